"""libggufx for Python: GGUF files, quantized matrices, KV caches and language models.

The contract of each call is its comment in the headers, ggufx/*.h.
SPDX-License-Identifier: MIT
"""
from . import _safe, errors, ids
from ._callbacks import Progress
from ._codes import *  # noqa: F403
from ._library import LibraryError, library_path, load
from ._safe import *  # noqa: F403
from .adapter import Adapter
from .chat import ChatEvent, ChatParser
from .detokenizer import Detokenizer, Tokenizer
from .embedder import Embedder
from .errors import *  # noqa: F403
from .file import File, Tensors
from .ids import *  # noqa: F403
from .kv import KvCache
from .lists import Imatrix, Quantizer
from .matcher import Matcher
from .matmul import matvec_many
from .meta import Meta, Metas
from .quant import dequantize, quantize
from .runtime import Allocator, Executor, Runtime
from .sampler import Chain, Link, Sampler
from .session import AttentionHook, AttentionView, BatchItem, Session, Want
from .speculator import Speculator
from .tensor import Tensor
from .writer import Writer

__version__ = "0.1.0"

__all__ = [
    "Adapter", "Allocator", "AttentionHook", "AttentionView", "BatchItem", "Chain", "ChatEvent", "ChatParser",
    "Detokenizer", "Embedder", "Executor", "File", "Imatrix", "KvCache", "LibraryError", "Link", "Matcher", "Meta",
    "Metas", "Progress", "Quantizer", "Runtime", "Sampler", "Session", "Speculator", "Tensor", "Tensors", "Tokenizer",
    "Want", "Writer", "dequantize", "library_path", "load", "matvec_many", "quantize",
]
__all__ += _safe.__all__
__all__ += errors.__all__
__all__ += [name for name in vars(ids) if not name.startswith("_")]
