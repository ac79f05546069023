// The objects of the API benchmarks, of the sizes that the reference was measured with.

/** 0.7 KB as sent. */
export const configMap = (name: string, bytes = 500, namespace = 'default'): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { app: 'bench', tier: 'data' } },
    data: { first: 'x'.repeat(bytes), second: 'value' },
  });

const container = (name: string): object => ({
  name,
  image: `registry.example.com/team/${name}:1.2.3`,
  args: ['--listen=:8080', '--verbosity=2'],
  env: Array.from({ length: 8 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `the value of number ${i}` })),
  ports: [{ containerPort: 8080, name: 'http', protocol: 'TCP' }],
  resources: { limits: { cpu: '500m', memory: '128Mi' }, requests: { cpu: '10m', memory: '16Mi' } },
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
  readinessProbe: { httpGet: { path: '/readyz', port: 'http' }, periodSeconds: 10 },
});

/** 3 KB as stored. */
export const pod = (name: string, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      labels: { app: 'bench', 'pod-template-hash': 'abcdef' },
      annotations: { note: 'y'.repeat(60) },
    },
    spec: {
      containers: [container('main')],
      volumes: [{ name: 'data', emptyDir: {} }],
      automountServiceAccountToken: false,
      ...spec,
    },
  });

const nodeResources = { cpu: '8', memory: '16Gi', pods: '110', 'ephemeral-storage': '100Gi' };

/** As a kubelet registers it, and ready at once. */
export function node(name: string): string {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const condition = (type: string, status: string): object => ({
    type,
    status,
    reason: `Kubelet${type}`,
    message: `kubelet says ${status} of ${type}`,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/arch': 'amd64', 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' },
    },
    status: {
      capacity: nodeResources,
      allocatable: nodeResources,
      conditions: [
        ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => condition(type, 'False')),
        condition('Ready', 'True'),
      ],
      addresses: [
        { type: 'InternalIP', address: '192.0.2.7' },
        { type: 'Hostname', address: name },
      ],
      nodeInfo: {
        architecture: 'amd64',
        bootID: '',
        containerRuntimeVersion: 'containerd://1.7.0',
        kernelVersion: '6.1.0',
        kubeProxyVersion: '',
        kubeletVersion: 'v1.36.0',
        machineID: '',
        operatingSystem: 'linux',
        osImage: 'Linux',
        systemUUID: '',
      },
    },
  });
}

/** 6.4 KB as stored. */
export const largePod = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'bench', tier: 'x' }, annotations: { note: 'y'.repeat(400) } },
    spec: {
      containers: [0, 1].map((c) => ({
        name: `c${c}`,
        image: `registry.example/app:${c}`,
        env: Array.from({ length: 8 }, (_, i) => ({ name: `E${i}`, value: 'v'.repeat(24) })),
        resources: {
          requests: { cpu: '10m', memory: '16Mi' },
          limits: { cpu: '1', memory: '64Mi' },
        },
        ports: [{ containerPort: 8080 + c }],
      })),
    },
  });
