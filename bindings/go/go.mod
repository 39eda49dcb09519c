module github.com/ggufx/ggufx-go

go 1.19
