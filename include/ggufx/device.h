/*
 * ggufx/device.h: GPUs and other devices for matrix products, with the bits of the CPU.
 *
 * Devices come from plugins: shared libraries beside this one, such as "libggufx-vulkan.so.0",
 * which are loaded when devices are first listed or opened. The arithmetic of a device is tested
 * when it is opened. It counts as exact if every operation that products use follows IEEE 754.
 * Every result is then bit-identical to that of the same call on the CPU.
 *
 * Uploaded weights are tensors like others. ggufx_matvec and ggufx_matmul accept them, with x and y
 * in CPU memory. ggufx_model_options.device offloads the last layers of a model.
 *
 * A device runs one call at a time: uploads, downloads and products wait for each other. A progress
 * callback of one must therefore not call anything on the same device.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_DEVICE_H
#define GGUFX_DEVICE_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened device. Tensors in its memory, and models, keep it alive. */
typedef struct ggufx_device ggufx_device;

/* Flags for opening a device. */
typedef uint32_t ggufx_device_open_flags;
#define GGUFX_DEVICE_ALLOW_INEXACT 1u /* open it even if its arithmetic is not exact */
#define GGUFX_DEVICE_FMA_F64 2u       /* compute fma in binary64, for tests */
#define GGUFX_DEVICE_FMA_F32 4u       /* compute fma in binary32, for tests */

/* Options of a device. All zero means default. */
typedef struct ggufx_device_options {
    uint32_t struct_size;
    ggufx_device_open_flags flags;
    /* Folder of the plugins, or one plugin; NULL: the folder of this library's file. Relative paths
     * are refused in processes with elevated privileges (set-user-ID). */
    const char *plugin_path;
    /* Loads from the host's cache of compiled shaders, which outlives the process. Returns the
     * number of bytes stored under a key, 0 if none, and copies at most `capacity` of them. The
     * driver checks these bytes. May be NULL. It is called by the thread that opens or destroys a
     * device. */
    uint64_t (*cache_load)(void *user, const char *key, void *out, uint64_t capacity);
    /* Stores compiled shaders under a key, for cache_load. May be NULL. */
    void (*cache_store)(void *user, const char *key, const void *data, uint64_t n_bytes);
    void *cache_user; /* first argument of cache_load and cache_store */
} ggufx_device_options;

/* Properties of a device. */
typedef uint32_t ggufx_device_flags;
#define GGUFX_DEVICE_UNUSABLE 1u /* cannot be opened; see ggufx_device_facts.reason */
#define GGUFX_DEVICE_UNIFIED 2u  /* shares the memory of the CPU */
#define GGUFX_DEVICE_INT_DOT 4u  /* has an instruction for int8 dot products */
#define GGUFX_DEVICE_SOFTWARE 8u /* software device on the CPU; slower than no device */
#define GGUFX_DEVICE_EXACT 16u   /* opened; its results are bit-identical to those of the CPU */
#define GGUFX_DEVICE_LOST 32u    /* failed; every later call on it fails too */

/* Implementations of fma (fused multiply-add) on a device. */
typedef uint32_t ggufx_fma;
enum {
    GGUFX_FMA_UNKNOWN = 0, /* not opened */
    GGUFX_FMA_DEVICE = 1,  /* its own instruction */
    GGUFX_FMA_F64 = 2,     /* exact emulation in binary64 */
    GGUFX_FMA_F32 = 3      /* exact emulation in binary32 */
};

typedef struct ggufx_device_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_device_flags flags;
    ggufx_fma fma;
    uint32_t reserved;
    uint64_t memory_bytes; /* memory of the device */
    uint64_t free_bytes; /* free memory now, according to its driver; 0: not opened, or not known */
    uint64_t used_bytes; /* memory used by this ggufx_device and its tensors */
    uint64_t max_allocation; /* bytes of one allocation; larger tensors are split */
    uint64_t n_launches;     /* operations since it was opened */
    char id[40];             /* "vulkan:0"; "vulkan" for a plugin without a device */
    char name[128];          /* name according to its driver */
    char driver[96];         /* driver and version */
    char reason[224];        /* reason why it is unusable or not exact, else empty */
} ggufx_device_facts;

/*
 * Lists devices, with the reason if a plugin or device cannot be used.
 *
 * Writes at most `capacity` entries of out[0].struct_size bytes each (set in the first one).
 * *out_needed is the number of all devices. Devices are not opened. options may be NULL. An empty
 * list is no error.
 *
 * Errors: ARGUMENT, CAPACITY, MEMORY, LIMIT (plugin_path is too long).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_device_list(ggufx_device_facts *out, size_t capacity,
                                         size_t *out_needed, const ggufx_runtime *rt,
                                         const ggufx_device_options *options, ggufx_error *error);

/*
 * Opens a device by its id in the list. "auto" selects the first usable device that is not
 * software.
 *
 * Its arithmetic is tested. Shaders are compiled on first use. Plugins and drivers stay loaded
 * until the process ends. After a fork the child must not use devices of the parent.
 *
 * Errors: ARGUMENT, MEMORY (also of the device), LIMIT, DEVICE, UNSUPPORTED (no plugin, no driver,
 * a plugin of another version, no such device, a device that is not exact: the message says which).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_device_open(ggufx_device **out, const ggufx_runtime *rt,
                                         const char *id, const ggufx_device_options *options,
                                         ggufx_error *error);

/* Features that the owner of a VkDevice has enabled. */
typedef uint32_t ggufx_vulkan_features;
#define GGUFX_VULKAN_FLOAT64 1u       /* feature shaderFloat64 */
#define GGUFX_VULKAN_INT_DOT 2u       /* VK_KHR_shader_integer_dot_product and its feature */
#define GGUFX_VULKAN_MEMORY_BUDGET 4u /* extension VK_EXT_memory_budget */

/* Vulkan handles of an engine. All must be set, except lock, unlock and user. */
typedef struct ggufx_vulkan_options {
    uint32_t struct_size;
    ggufx_vulkan_features flags;
    void *get_instance_proc_addr; /* PFN_vkGetInstanceProcAddr */
    void *instance;               /* VkInstance, created for Vulkan 1.2 or later */
    void *physical_device;        /* VkPhysicalDevice */
    void *device;                 /* VkDevice with the feature timelineSemaphore */
    void *queue;                  /* VkQueue of a family with compute */
    uint32_t queue_family;        /* family of the queue */
    uint32_t reserved;
    /* Called before each use of a queue that others use too, by the thread of the call. Both lock
     * and unlock are set, or neither. They must not call anything on the ggufx_device. */
    void (*lock)(void *user);
    void (*unlock)(void *user); /* called after each use of the queue */
    void *user;                 /* first argument of lock and unlock */
} ggufx_vulkan_options;

/*
 * Uses the VkDevice of an engine as the device "vulkan", in its memory and on its queue.
 *
 * The VkDevice is never destroyed and never waited for as a whole. It must live until the
 * ggufx_device and its last tensor are destroyed, or until ggufx_device_detach. The structs are
 * read by the call only. options.plugin_path names the Vulkan plugin or its folder.
 *
 * Errors: as ggufx_device_open; ARGUMENT also for handles that are not set.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_device_create_vulkan(ggufx_device **out, const ggufx_runtime *rt,
                                                  const ggufx_vulkan_options *handles,
                                                  const ggufx_device_options *options,
                                                  ggufx_error *error);

/*
 * Frees everything on a device, including the data of its tensors.
 *
 * The call waits for running work, then frees memory, pipelines and queues. Later calls on the
 * device and its tensors fail with DEVICE. The handles must still be destroyed, in any order. An
 * engine calls this before it destroys its VkDevice.
 *
 * Threads: exclusive on device and its tensors.   Since: 0.1.
 */
GGUFX_API void ggufx_device_detach(ggufx_device *device);

/* Releases the caller's reference.   Threads: exclusive on device.   Since: 0.1. */
GGUFX_API void ggufx_device_destroy(ggufx_device *device);

/* Describes an opened device. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_device_info(ggufx_device_facts *out, const ggufx_device *device,
                                         ggufx_error *error);

/*
 * Copies a tensor to the memory of a device.
 *
 * The result is a tensor with the same type, shape, name and bytes, memory_kind 1 and
 * ggufx_tensor_data NULL. It can be sliced and multiplied. The file of `w` may be destroyed.
 * progress may be NULL; it is reported in bytes. After an error no memory stays allocated.
 *
 * Errors:
 * - ARGUMENT, SHAPE, CANCELLED, DEVICE.
 * - MEMORY: the CPU or the device has none left; the message says which.
 * - TYPE: a type without GGUFX_TYPE_HAS_MATVEC.
 * - UNSUPPORTED: w is not in CPU memory.
 * - LIMIT: a row is larger than max_allocation.
 *
 * Threads: any number at once; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_upload(ggufx_tensor **out, const ggufx_device *device,
                                           const ggufx_tensor *w, const ggufx_progress *progress,
                                           ggufx_error *error);

/* Copies the bytes of a tensor from the memory of a device: n = its n_bytes, rows dense.
 * Errors: ARGUMENT (n; not a tensor of a device), DEVICE.
 * Threads: any number at once.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tensor_download(void *out, size_t n, const ggufx_tensor *w,
                                             ggufx_error *error);

/*
 * Computes the sum of all words of a tensor on its device, modulo 2^32.
 *
 * The words of a row are little-endian, of 32 bits, padded with zeros. The device reads each byte
 * once and does nothing else, so the time is that of reading, and a lower bound for a product.
 *
 * Errors: ARGUMENT (not a tensor of a device), UNSUPPORTED (a slice of columns), DEVICE.
 * Threads: any number at once.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_checksum(uint32_t *out, const ggufx_tensor *w,
                                             ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
