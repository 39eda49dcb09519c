module github.com/ggufx/libggufx/bindings/go

go 1.19
