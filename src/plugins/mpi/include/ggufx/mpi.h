/*
 * ggufx/mpi.h: the ranks of an MPI job as a group (ggufx/group.h). A separate library,
 * libggufx-mpi, which links MPI but not libggufx. Hosts link it, or load it if it is installed.
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
    /* Called about every second while a call waits: the missing rank, its host and the time waited.
     * May be NULL. Runs in the waiting thread, which may be a thread of the library. */
    void (*waiting)(void *user, uint32_t rank, const char *host, uint32_t waited_ms);
    void *user; /* for waiting */
    uint64_t reserved[2];
} ggufx_mpi_options;

/* Fill with defaults (all zero except struct_size).   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_mpi_options_init(ggufx_mpi_options *options);

/*
 * Create a group of all ranks of MPI_COMM_WORLD, with a duplicate of the communicator. All ranks
 * call it. options may be NULL.
 * Initializes MPI (MPI_THREAD_SERIALIZED) if the host has not, and then the group's destroy
 * finalizes it.
 * MPI errors are returned and do not end the process. Start jobs with `mpirun --enable-recovery`;
 * otherwise Open MPI ends the other ranks before they can report a lost rank.
 * Messages that time out cannot be recalled: MPI keeps their memory, and destroy does not finalize
 * MPI. End the process with _exit then.
 * MPI is for trusted networks: every program that reaches its ports can take part.
 * Errors: ARGUMENT, MEMORY, IO (an MPI error), UNSUPPORTED (an MPI without threads).
 * Threads: one.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_mpi_group(ggufx_group *out, const ggufx_mpi_options *options,
                                       ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
