// What this build is, in the form of /version.

/** The Kubernetes API that is served; `+porthole` names us, as k3s and others do. */
export const version = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+porthole-0.1.0',
} as const;
