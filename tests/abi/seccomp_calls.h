/*
 * System calls that a profile may name, as CALL(name). Each is conditional: some architectures lack
 * it.
 * SPDX-License-Identifier: MIT
 */
#ifdef SYS_access
CALL(access)
#endif
CALL(brk)
CALL(clock_gettime)
CALL(clock_nanosleep)
CALL(clone)
#ifdef SYS_clone3
CALL(clone3)
#endif
CALL(close)
CALL(exit)
CALL(exit_group)
CALL(faccessat)
CALL(fchmod)
CALL(fchown)
CALL(fcntl)
CALL(flock)
CALL(fstat)
CALL(fstatfs)
CALL(fsync)
CALL(ftruncate)
CALL(futex)
CALL(getdents64)
CALL(geteuid)
CALL(getpid)
CALL(getrandom)
CALL(gettid)
#ifdef SYS_link
CALL(link)
#endif
CALL(linkat)
CALL(lseek)
CALL(madvise)
CALL(mmap)
CALL(mprotect)
CALL(mremap)
CALL(munmap)
#ifdef SYS_newfstatat
CALL(newfstatat)
#endif
CALL(openat)
CALL(pread64)
CALL(prlimit64)
CALL(pwrite64)
CALL(read)
#ifdef SYS_readlink
CALL(readlink)
#endif
CALL(readlinkat)
#ifdef SYS_rename
CALL(rename)
#endif
CALL(renameat)
CALL(renameat2)
CALL(restart_syscall)
#ifdef SYS_rseq
CALL(rseq)
#endif
CALL(rt_sigaction)
CALL(rt_sigprocmask)
CALL(rt_sigreturn)
CALL(sched_getaffinity)
CALL(sched_yield)
CALL(set_robust_list)
CALL(statfs)
#ifdef SYS_unlink
CALL(unlink)
#endif
CALL(unlinkat)
CALL(write)
