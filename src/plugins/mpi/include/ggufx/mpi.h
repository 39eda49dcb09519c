/*
 * ggufx/mpi.h: the ranks of an MPI job as a group (ggufx/group.h). A library of its own,
 * libggufx-mpi, which links MPI and not libggufx; hosts link it, or load it when it is there.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_MPI_H
#define GGUFX_MPI_H

#include <ggufx/group.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zero means default. */
typedef struct ggufx_mpi_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    /* Told about every second while a call waits: who has not come, on which machine, for how long.
     * May be NULL. In the waiting thread, maybe one of the library's. */
    void (*waiting)(void *user, uint32_t rank, const char *host, uint32_t waited_ms);
    void *user; /* for waiting */
    uint64_t reserved[2];
} ggufx_mpi_options;

/* Fill with defaults (all zero but struct_size).   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_mpi_options_init(ggufx_mpi_options *options);

/*
 * All ranks of MPI_COMM_WORLD, or of this communicator's copy, as a group. MPI is initialized
 * (MPI_THREAD_SERIALIZED) unless it is, and then finalized by the group's destroy. A call of all
 * ranks. options may be NULL. MPI's own errors are returned, it never ends the process; start jobs
 * with `mpirun --enable-recovery`, else Open MPI ends the survivors of a lost rank before they can
 * say a word. Messages that did not come in time cannot be called back: their memory is left to MPI
 * for good, and destroy does not finalize then; end the process by _exit.
 * MPI is for networks that are trusted: whoever reaches its ports takes part.
 * Errors: ARGUMENT, MEMORY, IO (what MPI says), UNSUPPORTED (an MPI without threads).
 * Threads: one.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_mpi_group(ggufx_group *out, const ggufx_mpi_options *options,
                                       ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
