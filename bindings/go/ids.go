// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT

package ggufx

// AdapterKind: Kinds of adapters, and the keys by which a file is recognized.
type AdapterKind uint32

const (
	AdapterKindLora    AdapterKind = 1
	AdapterKindControl AdapterKind = 2
)

// Status: Status codes.
type Status int32

const (
	StatusOk          Status = 0
	StatusArgument    Status = -1
	StatusMemory      Status = -2
	StatusIO          Status = -3
	StatusTruncated   Status = -4
	StatusMagic       Status = -5
	StatusVersion     Status = -6
	StatusEndian      Status = -7
	StatusMalformed   Status = -8
	StatusLimit       Status = -9
	StatusType        Status = -10
	StatusUnsupported Status = -11
	StatusNotFound    Status = -12
	StatusCapacity    Status = -13
	StatusCancelled   Status = -14
	StatusChecksum    Status = -15
	StatusMismatch    Status = -16
	StatusState       Status = -17
	StatusInternal    Status = -18
	StatusDevice      Status = -19
	StatusCount       Status = -32
	StatusLength      Status = -33
	StatusKey         Status = -34
	StatusKvtype      Status = -35
	StatusValue       Status = -36
	StatusDuplicate   Status = -37
	StatusAlignment   Status = -38
	StatusName        Status = -39
	StatusNdims       Status = -40
	StatusShape       Status = -41
	StatusOverflow    Status = -42
	StatusOffset      Status = -43
	StatusBounds      Status = -44
	StatusSplit       Status = -45
	StatusVocab       Status = -48
	StatusHparam      Status = -49
	StatusMissing     Status = -50
)

// LogLevel: Levels of a log message or finding.
type LogLevel int32

const (
	LogError   LogLevel = 1
	LogWarning LogLevel = 2
	LogInfo    LogLevel = 3
	LogDebug   LogLevel = 4
)

// ISA: Instruction sets of the kernels.
type ISA int32

const (
	ISABest     ISA = 0
	ISAScalar   ISA = 1
	ISAAvx2     ISA = 2
	ISAAvxvnni  ISA = 3
	ISAAvx512   ISA = 4
	ISANeon     ISA = 16
	ISANeonDot  ISA = 17
	ISANeonI8mm ISA = 18
)

// CPUFeatures: Features of a processor.
type CPUFeatures uint64

const (
	CPUAvx2         CPUFeatures = 1
	CPUAvxvnni      CPUFeatures = 2
	CPUAvx512       CPUFeatures = 4
	CPUAvx512vbmi   CPUFeatures = 8
	CPUAvx512bitalg CPUFeatures = 16
	CPUNeon         CPUFeatures = 65536
	CPUNeonDot      CPUFeatures = 131072
	CPUNeonI8mm     CPUFeatures = 262144
)

// BatchFlags: Flags of an item of a batch.
type BatchFlags uint32

const (
	BatchLogits    BatchFlags = 1
	BatchAllLogits BatchFlags = 2
	BatchMark      BatchFlags = 4
	BatchEmbed     BatchFlags = 8
	BatchAllEmbed  BatchFlags = 16
)

// BatchOptionsFlags: Flags of a batch.
type BatchOptionsFlags uint32

const (
	BatchOptionsMatmul BatchOptionsFlags = 1
)

// ChatFlags: Flags of a rendering.
type ChatFlags uint32

const (
	ChatGenerate ChatFlags = 1
	ChatThink    ChatFlags = 2
	ChatNoThink  ChatFlags = 4
	ChatClock    ChatFlags = 8
	ChatContinue ChatFlags = 16
)

// ChatFeatures: Features of a template.
type ChatFeatures uint32

const (
	ChatFeaturesTakesTools ChatFeatures = 1
	ChatFeaturesCalls      ChatFeatures = 2
	ChatFeaturesReasons    ChatFeatures = 4
	ChatFeaturesChannels   ChatFeatures = 8
)

// ChatCallForm: Forms of tool calls.
type ChatCallForm uint32

const (
	ChatCallFormNone   ChatCallForm = 0
	ChatCallFormObject ChatCallForm = 1
	ChatCallFormKeyed  ChatCallForm = 2
	ChatCallFormNamed  ChatCallForm = 3
	ChatCallFormTagged ChatCallForm = 4
)

// ChatNotation: Notations of the arguments of GGUFX_CHAT_CALL_NAMED.
type ChatNotation uint32

const (
	ChatNotationJson   ChatNotation = 0
	ChatNotationPython ChatNotation = 1
	ChatNotationQuoted ChatNotation = 2
)

// ChatEventKind: Kinds of parser events.
type ChatEventKind uint32

const (
	ChatEventKindAnswer        ChatEventKind = 1
	ChatEventKindReasoning     ChatEventKind = 2
	ChatEventKindCallName      ChatEventKind = 3
	ChatEventKindCallArguments ChatEventKind = 4
	ChatEventKindCallID        ChatEventKind = 5
)

// ChatParserFlags: Flags of a parser.
type ChatParserFlags uint32

const (
	ChatParserNoCalls       ChatParserFlags = 1
	ChatParserKeepReasoning ChatParserFlags = 2
)

// ChatParserStateFlags: State of a parser.
type ChatParserStateFlags uint32

const (
	ChatParserStateReasoning ChatParserStateFlags = 1
)

// DeviceOpenFlags: Flags for opening a device.
type DeviceOpenFlags uint32

const (
	DeviceOpenAllowBounded DeviceOpenFlags = 1
	DeviceOpenFmaF64       DeviceOpenFlags = 2
	DeviceOpenFmaF32       DeviceOpenFlags = 4
)

// DeviceFlags: Properties of a device.
type DeviceFlags uint32

const (
	DeviceUnusable  DeviceFlags = 1
	DeviceUnified   DeviceFlags = 2
	DeviceIntDot    DeviceFlags = 4
	DeviceProcessor DeviceFlags = 8
	DeviceExact     DeviceFlags = 16
	DeviceLost      DeviceFlags = 32
)

// Fma: Implementations of fma (fused multiply-add) on a device.
type Fma uint32

const (
	FmaUnknown Fma = 0
	FmaDevice  Fma = 1
	FmaF64     Fma = 2
	FmaF32     Fma = 3
)

// VulkanFeatures: Features that the owner of a VkDevice has enabled.
type VulkanFeatures uint32

const (
	VulkanFeaturesFloat64      VulkanFeatures = 1
	VulkanFeaturesIntDot       VulkanFeatures = 2
	VulkanFeaturesMemoryBudget VulkanFeatures = 4
)

// Pooling: Pooling of the hidden states of an input.
type Pooling uint32

const (
	PoolingDefault Pooling = 0
	PoolingMean    Pooling = 1
	PoolingFirst   Pooling = 2
	PoolingLast    Pooling = 3
	PoolingRank    Pooling = 4
	PoolingNone    Pooling = 5
)

// EmbedFlags: Flags of embeddings.
type EmbedFlags uint32

const (
	EmbedNormalize EmbedFlags = 1
	EmbedCut       EmbedFlags = 2
)

// EstimateFlags: Flags of an estimate.
type EstimateFlags uint32

const (
	EstimateFileType     EstimateFlags = 1
	EstimateImatrix      EstimateFlags = 2
	EstimateLayers       EstimateFlags = 32
	EstimateFits         EstimateFlags = 4
	EstimateNeedsImatrix EstimateFlags = 8
	EstimateNoGraph      EstimateFlags = 16
)

// IOMode: How tensor data are loaded.
type IOMode int32

const (
	IOModeAuto IOMode = 0
	IOModeMap  IOMode = 1
	IOModeRead IOMode = 2
)

// OpenFlags: Flags for opening a file.
type OpenFlags uint32

const (
	OpenMetadataOnly OpenFlags = 1
	OpenPopulate     OpenFlags = 2
	OpenHugePages    OpenFlags = 4
	OpenLock         OpenFlags = 8
	OpenStrict       OpenFlags = 16
	OpenLegacyV1     OpenFlags = 32
	OpenUnknownTypes OpenFlags = 64
	OpenSingle       OpenFlags = 128
	OpenCopy         OpenFlags = 256
)

// MetaType: Types of metadata values, with the ids that GGUF files contain.
type MetaType int32

const (
	MetaU8     MetaType = 0
	MetaI8     MetaType = 1
	MetaU16    MetaType = 2
	MetaI16    MetaType = 3
	MetaU32    MetaType = 4
	MetaI32    MetaType = 5
	MetaF32    MetaType = 6
	MetaBool   MetaType = 7
	MetaString MetaType = 8
	MetaArray  MetaType = 9
	MetaU64    MetaType = 10
	MetaI64    MetaType = 11
	MetaF64    MetaType = 12
)

// ValidateFlags: Flags of a validation.
type ValidateFlags uint32

const (
	ValidateDeep   ValidateFlags = 1
	ValidateStrict ValidateFlags = 2
)

// GeneratorFlags: Flags of ggufx_generator_options.
type GeneratorFlags uint32

const (
	GeneratorTiledDecode     GeneratorFlags = 1
	GeneratorSpecialTokens   GeneratorFlags = 2
	GeneratorIgnoreEog       GeneratorFlags = 4
	GeneratorIdsOnly         GeneratorFlags = 8
	GeneratorScorePrompt     GeneratorFlags = 16
	GeneratorLogprobs        GeneratorFlags = 32
	GeneratorKeepReasoning   GeneratorFlags = 64
	GeneratorHasMaxReasoning GeneratorFlags = 128
)

// PromptFlags: Flags of ggufx_prompt.
type PromptFlags uint32

const (
	PromptAppend       PromptFlags = 1
	PromptParseSpecial PromptFlags = 2
	PromptCheckpoint   PromptFlags = 4
	PromptReuseAnswers PromptFlags = 8
)

// EventKind: Kind of an event.
type EventKind uint32

const (
	EventKindNone          EventKind = 0
	EventKindText          EventKind = 1
	EventKindReasoning     EventKind = 2
	EventKindToolCall      EventKind = 3
	EventKindToolArguments EventKind = 4
	EventKindPrompt        EventKind = 5
	EventKindEnd           EventKind = 6
	EventKindToolID        EventKind = 7
)

// End: Reason for which a generation has ended.
type End uint32

const (
	EndNone      End = 0
	EndEog       End = 1
	EndStop      End = 2
	EndLength    End = 3
	EndContext   End = 4
	EndGrammar   End = 5
	EndCancelled End = 6
	EndError     End = 7
)

// ForkFlags: Flags of ggufx_fork_options.
type ForkFlags uint32

const (
	ForkReseed ForkFlags = 1
)

// GeneratorState: State of a generator.
type GeneratorState uint32

const (
	GeneratorStateEmpty     GeneratorState = 0
	GeneratorStatePrefill   GeneratorState = 1
	GeneratorStateDecode    GeneratorState = 2
	GeneratorStateSuspended GeneratorState = 3
	GeneratorStateEnded     GeneratorState = 4
)

// GrammarKind: Languages in which a grammar is written.
type GrammarKind uint32

const (
	GrammarKindGbnf       GrammarKind = 0
	GrammarKindJsonSchema GrammarKind = 1
)

// GrammarFlags: Flags of grammars of JSON.
type GrammarFlags uint32

const (
	GrammarCompact   GrammarFlags = 1
	GrammarAnyOrder  GrammarFlags = 2
	GrammarNoFormats GrammarFlags = 4
	GrammarAnyNumber GrammarFlags = 8
	GrammarAnySpace  GrammarFlags = 16
)

// MatcherFlags: State of a matcher.
type MatcherFlags uint32

const (
	MatcherWhole MatcherFlags = 1
	MatcherEnded MatcherFlags = 2
)

// GroupFlags: Flags of a communicator.
type GroupFlags uint32

const (
	GroupOneMachine GroupFlags = 1
)

// GroupOptionsFlags: Flags of a partition.
type GroupOptionsFlags uint32

const (
	GroupOptionsLayers GroupOptionsFlags = 1
)

// ImatrixFormat: File formats, and flags that are added to the format of a file to write.
type ImatrixFormat int32

const (
	ImatrixFormatGguf      ImatrixFormat = 0
	ImatrixFormatDat       ImatrixFormat = 1
	ImatrixFormatNoReplace ImatrixFormat = 256
	ImatrixFormatExact     ImatrixFormat = 512
)

// CollectFlags: Flags of a collection.
type CollectFlags uint32

const (
	CollectOutput CollectFlags = 1
)

// JobFlags: Flags of a plan.
type JobFlags uint32

const (
	JobPure            JobFlags = 1
	JobLeaveOutput     JobFlags = 2
	JobOnlyCopy        JobFlags = 4
	JobAllowRequantize JobFlags = 8
	JobNoFallback      JobFlags = 16
	JobKeepSplit       JobFlags = 32
	JobOutputType      JobFlags = 64
	JobEmbeddingType   JobFlags = 128
	JobBest            JobFlags = 256
	JobNoReplace       JobFlags = 512
)

// JobReason: Reasons for the type of a tensor.
type JobReason int32

const (
	JobReasonRecipe   JobReason = 0
	JobReasonChosen   JobReason = 1
	JobReasonKept     JobReason = 2
	JobReasonSame     JobReason = 3
	JobReasonFallback JobReason = 4
)

// JobRunFlags: Flags of a run.
type JobRunFlags uint32

const (
	JobRunResume  JobRunFlags = 1
	JobRunKeep    JobRunFlags = 2
	JobRunMeasure JobRunFlags = 4
)

// WindowKind: Attention window of w positions.
type WindowKind uint32

const (
	WindowKindSliding   WindowKind = 0
	WindowKindChunked   WindowKind = 1
	WindowKindSymmetric WindowKind = 2
)

// KVFlags: Flags of a cache.
type KVFlags uint32

const (
	KVFitTq30    KVFlags = 1
	KVCentreAll  KVFlags = 2
	KVCentreNone KVFlags = 4
	KVVInK       KVFlags = 8
)

// RopeStyle: Position encoding of the keys, for ggufx_kv_shift.
type RopeStyle uint32

const (
	RopeStyleUnknown RopeStyle = 0
	RopeStyleNone    RopeStyle = 1
	RopeStylePairs   RopeStyle = 2
	RopeStyleHalves  RopeStyle = 3
)

// HalfFormat: Formats of 16-bit keys and values.
type HalfFormat uint32

const (
	HalfFormatF16  HalfFormat = 1
	HalfFormatBf16 HalfFormat = 2
)

// AttendFlags: Flags of attention.
type AttendFlags uint32

const (
	AttendAll AttendFlags = 1
)

// MatmulFlags: Flags of products.
type MatmulFlags uint32

const (
	MatmulF32            MatmulFlags = 1
	MatmulBatchInvariant MatmulFlags = 2
	MatmulTiles          MatmulFlags = 8
	MatmulPrecise        MatmulFlags = 4
)

// MeasureFlags: Flags of a measurement and of its rows.
type MeasureFlags uint32

const (
	MeasureCompared  MeasureFlags = 1
	MeasureSameModel MeasureFlags = 2
	MeasureSameTop   MeasureFlags = 4
)

// TokenizeFlags: Flags of ggufx_tokenize.
type TokenizeFlags uint32

const (
	TokenizeAddSpecial   TokenizeFlags = 1
	TokenizeParseSpecial TokenizeFlags = 2
)

// DetokenizeFlags: Flags of ggufx_detokenize.
type DetokenizeFlags uint32

const (
	DetokenizeKeepSpecial DetokenizeFlags = 1
	DetokenizeKeepSpace   DetokenizeFlags = 2
	DetokenizeCleanSpaces DetokenizeFlags = 4
	DetokenizeLast        DetokenizeFlags = 8
)

// TokenFlags: Properties of a token.
type TokenFlags uint32

const (
	TokenUnknown TokenFlags = 1
	TokenControl TokenFlags = 2
	TokenUser    TokenFlags = 4
	TokenUnused  TokenFlags = 8
	TokenByte    TokenFlags = 16
	TokenEnd     TokenFlags = 32
)

// TokenizerFlags: Properties of a tokenizer.
type TokenizerFlags uint32

const (
	TokenizerAddBos      TokenizerFlags = 1
	TokenizerAddEos      TokenizerFlags = 2
	TokenizerAddSep      TokenizerFlags = 4
	TokenizerAddSpace    TokenizerFlags = 8
	TokenizerCleanSpaces TokenizerFlags = 16
)

// SpecialToken: Special tokens.
type SpecialToken uint32

const (
	SpecialTokenBos           SpecialToken = 0
	SpecialTokenEos           SpecialToken = 1
	SpecialTokenEot           SpecialToken = 2
	SpecialTokenEom           SpecialToken = 3
	SpecialTokenUnknown       SpecialToken = 4
	SpecialTokenSeparator     SpecialToken = 5
	SpecialTokenPad           SpecialToken = 6
	SpecialTokenMask          SpecialToken = 7
	SpecialTokenFimPrefix     SpecialToken = 8
	SpecialTokenFimSuffix     SpecialToken = 9
	SpecialTokenFimMiddle     SpecialToken = 10
	SpecialTokenFimPad        SpecialToken = 11
	SpecialTokenFimRepository SpecialToken = 12
	SpecialTokenFimSeparator  SpecialToken = 13
)

// PreFlags: Properties of a pre-tokenizer.
type PreFlags uint32

const (
	PreAddBos       PreFlags = 1
	PreIgnoreMerges PreFlags = 2
	PreAddSep       PreFlags = 4
	PreKeepSpaces   PreFlags = 8
)

// ModelFlags: Properties of a model.
type ModelFlags uint32

const (
	ModelEmbedsOnly ModelFlags = 1
	ModelEmbeds     ModelFlags = 2
)

// LayerKind: Kinds of layers.
type LayerKind uint32

const (
	LayerKindAttention LayerKind = 1
	LayerKindRecurrent LayerKind = 2
)

// LayerFlags: Properties of a layer.
type LayerFlags uint32

const (
	LayerVInK LayerFlags = 1
)

// DecodeFlags: Flags of a decode.
type DecodeFlags uint32

const (
	DecodeAllLogits DecodeFlags = 1
)

// QuantizeMode: Algorithms that choose scales and codes.
type QuantizeMode int32

const (
	QuantizeModeReference QuantizeMode = 0
	QuantizeModeBest      QuantizeMode = 1
)

// LinkKind: Kinds of samplers in a chain.
type LinkKind uint32

const (
	LinkKindTopK        LinkKind = 1
	LinkKindTopP        LinkKind = 2
	LinkKindMinP        LinkKind = 3
	LinkKindTypical     LinkKind = 4
	LinkKindTopNSigma   LinkKind = 5
	LinkKindXtc         LinkKind = 6
	LinkKindTemperature LinkKind = 7
	LinkKindPenalties   LinkKind = 8
	LinkKindDry         LinkKind = 9
	LinkKindBias        LinkKind = 10
	LinkKindMirostat    LinkKind = 11
	LinkKindHost        LinkKind = 12
)

// SamplingFlags: Keys general.sampling.* of a file, and tokenizer.ggml.suppress_tokens.
type SamplingFlags uint32

const (
	SamplingTemperature    SamplingFlags = 1
	SamplingTopK           SamplingFlags = 2
	SamplingTopP           SamplingFlags = 4
	SamplingMinP           SamplingFlags = 8
	SamplingXtcProbability SamplingFlags = 16
	SamplingXtcThreshold   SamplingFlags = 32
	SamplingNLast          SamplingFlags = 64
	SamplingRepetition     SamplingFlags = 128
	SamplingMirostat       SamplingFlags = 256
	SamplingTau            SamplingFlags = 512
	SamplingEta            SamplingFlags = 1024
	SamplingLinks          SamplingFlags = 2048
	SamplingSuppressed     SamplingFlags = 4096
)

// TensorType: Tensor types, with the ids that GGUF files contain.
type TensorType uint32

const (
	TypeF32     TensorType = 0
	TypeF16     TensorType = 1
	TypeQ4_0    TensorType = 2
	TypeQ4_1    TensorType = 3
	TypeQ5_0    TensorType = 6
	TypeQ5_1    TensorType = 7
	TypeQ8_0    TensorType = 8
	TypeQ8_1    TensorType = 9
	TypeQ2_K    TensorType = 10
	TypeQ3_K    TensorType = 11
	TypeQ4_K    TensorType = 12
	TypeQ5_K    TensorType = 13
	TypeQ6_K    TensorType = 14
	TypeQ8_K    TensorType = 15
	TypeIQ2_XXS TensorType = 16
	TypeIQ2_XS  TensorType = 17
	TypeIQ3_XXS TensorType = 18
	TypeIQ1_S   TensorType = 19
	TypeIQ4_NL  TensorType = 20
	TypeIQ3_S   TensorType = 21
	TypeIQ2_S   TensorType = 22
	TypeIQ4_XS  TensorType = 23
	TypeI8      TensorType = 24
	TypeI16     TensorType = 25
	TypeI32     TensorType = 26
	TypeI64     TensorType = 27
	TypeF64     TensorType = 28
	TypeIQ1_M   TensorType = 29
	TypeBF16    TensorType = 30
	TypeTQ1_0   TensorType = 34
	TypeTQ2_0   TensorType = 35
	TypeMXFP4   TensorType = 39
	TypeNVFP4   TensorType = 40
	TypeQ1_0    TensorType = 41
	TypeQ2_0    TensorType = 42
)

// TypeFlags: Properties of a tensor type or KV cache type.
type TypeFlags uint32

const (
	TypeIsQuantized  TypeFlags = 1
	TypeIsFloat      TypeFlags = 2
	TypeIsInteger    TypeFlags = 4
	TypeIsActivation TypeFlags = 8
	TypeHasMatvec    TypeFlags = 16
	TypeHasQuantize  TypeFlags = 32
)

// KVType: KV cache types.
type KVType uint32

const (
	KVDEFAULT        KVType = 0
	KVF32            KVType = 1
	KVF16            KVType = 2
	KVBF16           KVType = 3
	KVQ8_0           KVType = 8
	KVQ5_1           KVType = 9
	KVQ5_0           KVType = 10
	KVQ4_1           KVType = 11
	KVQ4_0           KVType = 12
	KVIQ4_NL         KVType = 13
	KVROT_Q5_0       KVType = 32
	KVROT_Q4_0       KVType = 33
	KVROT_IQ4_NL     KVType = 34
	KVTQ3_0          KVType = 64
	KVTQ3_0_RESIDUAL KVType = 65
	KVGX2            KVType = 72
	KVGX3            KVType = 73
	KVGX4            KVType = 74
)

// WriterFlags: Flags of a writer.
type WriterFlags uint32

const (
	WriterBigEndian WriterFlags = 1
)

// WriteFlags: Flags of a write.
type WriteFlags uint32

const (
	WriteNoReplace WriteFlags = 1
)

// EditFlags: Flags of an edit, at most one.
type EditFlags uint32

const (
	EditInPlace EditFlags = 1
	EditRewrite EditFlags = 2
)

// Numbers with a meaning of their own.
const (
	AdapterMostUses       = 64
	AdapterAllSequences   = 4294967295
	SessionAll            = 4294967295
	EstimateAsIs          = 4294967295
	MaxDims               = 4
	JobByRecipe           = 4294967295
	KVNoSinks             = 4294967295
	KVAllSequences        = 4294967295
	KVKeepType            = 4294967295
	KVAllLayers           = 4294967295
	MatvecMaxMatrices     = 64
	SessionNoCheckpoints  = 4294967295
	LinkMostLast          = 1048576
	LinkMostLinks         = 64
	SamplingMostLinks     = 16
	SpeculatorMostDrafted = 31
	SpeculatorMostStops   = 1024
	VersionMajor          = 0
	VersionMinor          = 1
	VersionPatch          = 0
	ABIVersion            = 1
)
