/*
 * ggufx/device.h: graphics processors and other devices that multiply, with the processor's bits.
 *
 * A device comes from a plug-in, a shared library beside this one that is loaded when devices are
 * first asked for ("libggufx-vulkan.so.0"). When a device is opened its arithmetic is tested: it
 * counts as exact when every operation that products use gives what IEEE 754 says, and then every
 * result is the one that the same call gives without it, to the bit.
 *
 * Weights that were uploaded are tensors as others are: ggufx_matvec, ggufx_matmul,
 * ggufx_matvec_many and ggufx_matmul_id take them with x and y in the processor's memory. A model has
 * its last layers there by ggufx_model_options.device.
 *
 * One device works for one call at a time; calls wait for each other: uploads, downloads, products. A
 * progress callback of one must therefore not call anything on the same device.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_DEVICE_H
#define GGUFX_DEVICE_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened device. It lives on in tensors that lie in its memory, and in models. */
typedef struct ggufx_device ggufx_device;

#define GGUFX_DEVICE_ALLOW_BOUNDED 1u /* open it also where its arithmetic is not exact */
#define GGUFX_DEVICE_FMA_F64 2u       /* calculate fma by binary64, for tests */
#define GGUFX_DEVICE_FMA_F32 4u       /* calculate fma by binary32, for tests */

/* All zero means default. */
typedef struct ggufx_device_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_DEVICE_* */
    const void *next;
    const char
        *plugin_path; /* folder of the plug-ins, or one plug-in; NULL: this library's folder */
    /* Programs that drivers compile, kept by the host from one process to the next; each may be
     * NULL. load returns how many bytes it has under a key, 0 if none, and copies at most
     * `capacity` of them; what it gives is checked by the driver. Both are called while a device is
     * opened or destroyed, by that thread. */
    uint64_t (*cache_load)(void *user, const char *key, void *out, uint64_t capacity);
    void (*cache_store)(void *user, const char *key, const void *data, uint64_t n_bytes);
    void *cache_user; /* the first argument of both */
    uint64_t reserved[4];
} ggufx_device_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_device_options_init(ggufx_device_options *options);

#define GGUFX_DEVICE_UNUSABLE 1u  /* it cannot be opened: reason says why */
#define GGUFX_DEVICE_UNIFIED 2u   /* it shares the processor's memory */
#define GGUFX_DEVICE_INT_DOT 4u   /* it has an instruction for dot products of int8 */
#define GGUFX_DEVICE_PROCESSOR 8u /* a processor that plays a device: slower than without it */
#define GGUFX_DEVICE_EXACT 16u    /* opened, and its results are the processor's to the bit */
#define GGUFX_DEVICE_LOST 32u     /* it failed: every call on it does from then on */

/* How a device calculates fma. */
enum {
    GGUFX_FMA_UNKNOWN = 0, /* not opened */
    GGUFX_FMA_DEVICE = 1,  /* by its own instruction */
    GGUFX_FMA_F64 = 2,     /* exactly, by binary64 */
    GGUFX_FMA_F32 = 3      /* exactly, by binary32 */
};

typedef struct ggufx_device_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* GGUFX_DEVICE_UNUSABLE .. _LOST */
    uint32_t fma;         /* GGUFX_FMA_* */
    uint32_t reserved;
    uint64_t memory_bytes;   /* of the device */
    uint64_t free_bytes;     /* of them now, as its driver says; 0: not opened, or not known */
    uint64_t used_bytes;     /* by this ggufx_device and its tensors */
    uint64_t max_allocation; /* bytes of one piece of memory; larger tensors are several */
    uint64_t n_launches;     /* operations since it was opened */
    char id[40];             /* "vulkan:0"; of a plug-in that has no device "vulkan" */
    char name[128];          /* as its driver calls it */
    char driver[96];         /* driver and version */
    char reason[224];        /* why it is unusable or not exact, else empty */
} ggufx_device_facts;

/*
 * What devices there are, and why a plug-in or device cannot be used: at most `capacity` entries to
 * out, each out[0].struct_size bytes (set in the first one), and *out_needed of all. Devices are
 * not opened. options may be NULL.
 * Errors: ARGUMENT, CAPACITY, MEMORY, LIMIT (plugin_path is too long). That there is no device is
 * none.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_device_list(ggufx_device_facts *out, size_t capacity,
                                         size_t *out_needed, const ggufx_runtime *rt,
                                         const ggufx_device_options *options, ggufx_error *error);

/*
 * Open a device by its id in the list; "auto" is the first one that can be used and is no
 * processor. Its arithmetic is tested, programs are compiled when they are first needed.
 * Plug-ins and drivers stay in the process until it ends. After a fork the child must not use
 * devices of the parent.
 * Errors: ARGUMENT, MEMORY (also the device's), LIMIT, DEVICE, UNSUPPORTED (no plug-in, no driver, a
 * plug-in of another version, no such device, one whose results are not exact: the text says
 * which).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_device_open(ggufx_device **out, const ggufx_runtime *rt,
                                         const char *id, const ggufx_device_options *options,
                                         ggufx_error *error);

/* What the owner of a VkDevice turned on when it made that. */
#define GGUFX_VULKAN_FLOAT64 1u /* the feature shaderFloat64 */
#define GGUFX_VULKAN_INT_DOT                                                                       \
    2u /* the extension VK_KHR_shader_integer_dot_product and its feature */
#define GGUFX_VULKAN_MEMORY_BUDGET 4u /* the extension VK_EXT_memory_budget */

/* Vulkan's handles of an engine. All but the two functions and `user` must be set. */
typedef struct ggufx_vulkan_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_VULKAN_* */
    const void *next;
    void *get_instance_proc_addr; /* PFN_vkGetInstanceProcAddr */
    void *instance;               /* VkInstance, made for Vulkan 1.2 or later */
    void *physical_device;        /* VkPhysicalDevice */
    void *device;                 /* VkDevice with the feature timelineSemaphore */
    void *queue;                  /* VkQueue, of a family that computes */
    uint32_t queue_family;        /* of the queue */
    uint32_t reserved0;
    /* Called around each use of the queue, by the thread of the call, where others use it, too. Both or
     * neither; they must not call anything on the ggufx_device. */
    void (*lock)(void *user);
    void (*unlock)(void *user);
    void *user; /* their first argument */
    uint64_t reserved[2];
} ggufx_vulkan_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_vulkan_options_init(ggufx_vulkan_options *handles);

/*
 * Use the VkDevice of an engine as a device, "vulkan" by its id: its memory and its queue beside the
 * engine's own work. It is never destroyed and never waited for as a whole, and must live until the
 * last tensor of the ggufx_device and itself are gone, or ggufx_device_detach was called. The
 * structs are read by the call only. options.plugin_path names the plug-in for Vulkan or its folder.
 * Errors: as ggufx_device_open; ARGUMENT also for handles that are not set.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_device_adopt_vulkan(ggufx_device **out, const ggufx_runtime *rt,
                                                 const ggufx_vulkan_options *handles,
                                                 const ggufx_device_options *options,
                                                 ggufx_error *error);

/*
 * Take everything off the device, of all tensors that lie there: what runs is waited for, memory,
 * programs and queues are given back. From then on every call on it and its tensors is DEVICE; the
 * handles stay to be destroyed, in any order. An engine calls it before it destroys its VkDevice.
 * Threads: exclusive on device and its tensors.   Since: 0.1.
 */
GGUFX_API void ggufx_device_detach(ggufx_device *device);

/* Drop the caller's reference.   Threads: exclusive on device.   Since: 0.1. */
GGUFX_API void ggufx_device_destroy(ggufx_device *device);

/* Describe an opened device; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_device_info(ggufx_device_facts *out, const ggufx_device *device,
                                         ggufx_error *error);

/*
 * Copy a tensor into a device's memory: a tensor of its own with the same type, shape and name
 * (memory_kind 1, ggufx_tensor_data NULL) that can be sliced and multiplied; its bytes are those of
 * the file. The file of w may be destroyed. progress may be NULL; it is reported in bytes.
 * Errors: ARGUMENT, MEMORY (the text says whose), TYPE (not one with GGUFX_TYPE_HAS_MATVEC),
 * UNSUPPORTED (w is not in the processor's memory), SHAPE, LIMIT (a row larger than
 * max_allocation), CANCELLED, DEVICE. Nothing stays behind after one.
 * Threads: any number at once; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_upload(ggufx_tensor **out, const ggufx_device *device,
                                           const ggufx_tensor *w, const ggufx_progress *progress,
                                           ggufx_error *error);

/*
 * The bytes of a tensor in a device's memory: n = its n_bytes, rows dense.
 * Errors: ARGUMENT (n; not a tensor of a device), DEVICE.
 * Threads: any number at once.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_download(void *out, size_t n, const ggufx_tensor *w,
                                             ggufx_error *error);

/*
 * The sum, modulo 2^32, of all words of a tensor in a device's memory, calculated there: a row is
 * little-endian words of 32 bits, filled up with zeros. Its device reads each byte once and does
 * nothing else, so this takes what reading takes, and a product at least as long.
 * Errors: ARGUMENT (not a tensor of a device), UNSUPPORTED (a slice of columns), DEVICE.
 * Threads: any number at once.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_word_sum(uint32_t *out, const ggufx_tensor *w,
                                             ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
