"""libggufx for Python: GGUF files, quantized matrices, KV caches and language models.

The contract of each call is its comment in the headers, ggufx/*.h.
SPDX-License-Identifier: MIT
"""
from . import errors, ids
from ._callbacks import Progress
from ._library import LibraryError, library_path, load
from .adapter import Adapter, AdapterInfo
from .chat import (
    Chat, ChatEvent, ChatInfo, ChatParser, ChatParserInfo, ChatRequest, ChatText, chat_formats)
from .detokenizer import Detokenizer
from .edit import EditInfo, recover_edit
from .embedder import Embedder, EmbedderInfo, EmbedOptions, embedder_estimate
from .errors import *  # noqa: F403
from .estimates import Estimate, EstimateOptions, estimate, recommend
from .file import File, FileInfo, Finding, Tensors
from .formats import TypeInfo, kv_type, kv_type_info, row_bytes, tensor_type, type_info
from .grammar import Grammar, Matcher, MatcherInfo
from .ids import *  # noqa: F403
from .imatrix import Imatrix, ImatrixEntry, ImatrixInfo
from .job import FileType, PlannedTensor, Quantizer, QuantizerInfo, QuantizerOptions
from .kv import KvCache, KvLayer, KvOptions, KvStats, kv_estimate
from .matmul import matvec_many
from .measure import Measure
from .meta import Meta, Metas
from .model import LayerInfo, Model, ModelInfo, graph
from .pre_tokenizer import PreTokenizer, pre_tokenizers, unicode_version
from .quant import dequantize, quantize
from .runtime import (
    Allocator, Executor, Runtime, RuntimeInfo, abi_layout, has, library_version)
from .sampler import Chain, Link, Sampler, logprobs
from .sequences import BatchItem, SessionMemory, Want
from .session import AttentionHook, AttentionView, Perplexity, Session, SessionInfo
from .speculator import Guess, Speculator, SpeculatorInfo
from .stop import Stop, StopInfo
from .tensor import Tensor
from .tokenizer import TokenInfo, Tokenizer, TokenizerInfo
from .writer import Writer, WriterInfo

__version__ = "0.1.0"

__all__ = [
    "Adapter", "AdapterInfo", "Allocator", "AttentionHook", "AttentionView", "BatchItem", "Chain",
    "Chat", "ChatEvent", "ChatInfo", "ChatParser", "ChatParserInfo",
    "ChatRequest", "ChatText", "Detokenizer", "EditInfo", "EmbedOptions",
    "Embedder", "EmbedderInfo", "Estimate", "EstimateOptions",
    "Executor", "File", "FileInfo", "FileType", "Finding", "Grammar", "Guess", "Imatrix", "ImatrixEntry",
    "ImatrixInfo", "KvCache", "KvLayer", "KvOptions", "KvStats", "LayerInfo", "LibraryError",
    "Link", "Matcher", "MatcherInfo", "Measure", "Meta",
    "Metas", "Model", "ModelInfo", "Perplexity", "PlannedTensor", "PreTokenizer", "Progress",
    "Quantizer",
    "QuantizerInfo", "QuantizerOptions", "Runtime", "RuntimeInfo", "Sampler", "Session",
    "SessionInfo", "SessionMemory", "Speculator", "SpeculatorInfo", "Stop", "StopInfo",
    "Tensor", "Tensors", "TokenInfo", "Tokenizer", "TokenizerInfo", "TypeInfo", "Want", "Writer",
    "WriterInfo", "abi_layout", "chat_formats", "dequantize", "embedder_estimate", "estimate", "graph", "has",
    "kv_estimate", "kv_type",
    "kv_type_info", "library_path", "library_version", "load", "logprobs",
    "matvec_many",
    "pre_tokenizers", "quantize",
    "recommend", "recover_edit", "row_bytes", "tensor_type", "type_info",
    "unicode_version",
]
__all__ += errors.__all__
__all__ += [name for name in vars(ids) if not name.startswith("_")]
