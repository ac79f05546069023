// Names of OCI's image layout: media types, and where a blob lies.
export const ociMediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
} as const;

/** Within an archive or a layout's folder. */
export const blobName = (digest: string): string => `blobs/${digest.replace(':', '/')}`;
