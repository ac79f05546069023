// What this build is, in the form of /version.

/** The Kubernetes API that is served; `+porthole` names us, as k3s and others do. */
export const version = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+porthole-0.1.0',
  // Some clients refuse an answer without all of these.
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'node',
  compiler: 'v8',
  platform: 'linux/amd64',
} as const;
