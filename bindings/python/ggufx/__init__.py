"""libggufx for Python: GGUF files, quantized matrices, KV caches and language models.

The contract of each call is its comment in the headers, ggufx/*.h.
SPDX-License-Identifier: MIT
"""
from . import _safe, errors, ids
from ._callbacks import Progress
from ._codes import *  # noqa: F403
from ._library import LibraryError, library_path, load
from ._safe import *  # noqa: F403
from .detokenizer import Detokenizer, Tokenizer
from .errors import *  # noqa: F403
from .file import File
from .ids import *  # noqa: F403
from .lists import Listed
from .matmul import matvec_many
from .meta import Metas
from .quant import FeedbackFacts, dequantize, quantize, quantize_feedback
from .runtime import Allocator, Executor, Runtime
from ._shapes import AttentionHook
from .session import AttentionView, Session
from .tensor import Tensor
from .writer import Writer

__version__ = "0.1.0"

__all__ = [
    "Allocator", "AttentionHook", "AttentionView", "Detokenizer", "Executor", "File",
    "LibraryError", "Listed", "Metas", "Progress", "Runtime", "Session", "Tensor",
    "Tokenizer", "Writer", "FeedbackFacts", "dequantize", "library_path", "load", "matvec_many", "quantize", "quantize_feedback",
]
__all__ += _safe.__all__
__all__ += errors.__all__
__all__ += [name for name in vars(ids) if not name.startswith("_")]
