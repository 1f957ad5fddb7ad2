/* What all entries for XLA share. */

/* Whether XLA only queries which interface an entry has, which is answered then. */
static int asked_for_interface(const XLA_FFI_CallFrame *frame)
{
    /* all extensions begin alike; versions of XLA differ in the name of that beginning */
    const XLA_FFI_Metadata_Extension *more = (const XLA_FFI_Metadata_Extension *)frame->extension_start;
    if (more == NULL || more->extension_base.type != XLA_FFI_Extension_Metadata) return 0;
    XLA_FFI_Metadata *about = more->metadata;
    about->api_version.major_version = XLA_FFI_API_MAJOR;
    about->api_version.minor_version = XLA_FFI_API_MINOR;
    about->traits = 0;
    return 1;
}
