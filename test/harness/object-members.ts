// What an object of each common kind holds beside its metadata: where random objects start from.
const container = {
  name: 'c',
  image: 'i',
  ports: [{ containerPort: 80 }],
  env: [{ name: 'A', value: 'b' }],
  resources: { requests: { cpu: '1' }, limits: { memory: '1Gi' } },
  volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'x' }],
  livenessProbe: { httpGet: { path: '/', port: 80 } },
  lifecycle: { preStop: { exec: { command: ['x'] } } },
};
const podSpec = {
  containers: [container],
  initContainers: [{ name: 'i', image: 'i' }],
  volumes: [{ name: 'v', configMap: { name: 'm', items: [{ key: 'k', path: 'p' }] } }],
  tolerations: [{ key: 'a', operator: 'Exists' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
      },
    },
  },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' }],
  hostAliases: [{ ip: '1.2.3.4', hostnames: ['a'] }],
  securityContext: { runAsUser: 1, sysctls: [{ name: 'a.b', value: '1' }] },
};
const template = { metadata: { labels: { a: 'b' } }, spec: podSpec };
const workload = { replicas: 1, selector: { matchLabels: { a: 'b' } }, template };
/** By resource; of what is not named an empty spec will do. */
export const objectMembers: Readonly<Record<string, object>> = {
  pods: { spec: podSpec },
  deployments: {
    spec: { ...workload, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } } },
  },
  replicasets: { spec: workload },
  daemonsets: { spec: { selector: workload.selector, template } },
  statefulsets: {
    spec: {
      ...workload,
      serviceName: 's',
      volumeClaimTemplates: [
        {
          metadata: { name: 'd' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  },
  jobs: {
    spec: {
      template: { spec: { ...podSpec, restartPolicy: 'Never' } },
      completions: 2,
      podFailurePolicy: { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } }] },
    },
  },
  cronjobs: {
    spec: {
      schedule: '* * * * *',
      timeZone: 'Etc/UTC',
      jobTemplate: { spec: { template: { spec: { ...podSpec, restartPolicy: 'Never' } } } },
    },
  },
  services: {
    spec: {
      ports: [{ port: 80, targetPort: 'x', name: 'a', nodePort: 30_100 }],
      selector: { a: 'b' },
      type: 'NodePort',
      externalIPs: ['1.2.3.4'],
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } },
    },
  },
  configmaps: { data: { a: 'b' }, binaryData: { c: 'AAAA' } },
  secrets: { data: { a: 'AAAA' }, stringData: { b: 'c' }, type: 'Opaque' },
  nodes: {
    spec: { taints: [{ key: 'a', effect: 'NoSchedule' }], podCIDRs: ['10.0.0.0/24'] },
    status: { addresses: [{ type: 'InternalIP', address: '1.2.3.4' }], capacity: { cpu: '1' } },
  },
  ingresses: {
    spec: {
      rules: [
        {
          host: 'a.b',
          http: {
            paths: [
              { path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } },
            ],
          },
        },
      ],
      tls: [{ hosts: ['a'], secretName: 's' }],
    },
  },
  networkpolicies: {
    spec: {
      podSelector: {},
      ingress: [
        {
          from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }],
          ports: [{ port: 1, endPort: 2 }],
        },
      ],
      policyTypes: ['Ingress'],
    },
  },
  roles: { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
  clusterroles: {
    rules: [{ nonResourceURLs: ['/x'], verbs: ['get'] }],
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
  },
  rolebindings: {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [{ kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' }],
  },
  endpointslices: { addressType: 'IPv4', endpoints: [{ addresses: ['1.2.3.4'] }], ports: [{ port: 1 }] },
  persistentvolumeclaims: {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  horizontalpodautoscalers: {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { kind: 'Deployment', name: 'd' },
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
        },
      ],
    },
  },
  poddisruptionbudgets: { spec: { minAvailable: '50%', selector: { matchLabels: { a: 'b' } } } },
  customresourcedefinitions: {
    spec: {
      group: 'a.b',
      scope: 'Namespaced',
      names: { plural: 'cs', kind: 'C' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', pattern: '(a+)+$' } } },
          },
        },
      ],
    },
  },
  resourcequotas: { spec: { hard: { pods: '1', 'requests.cpu': '1' }, scopes: ['BestEffort'] } },
  limitranges: { spec: { limits: [{ type: 'Container', default: { cpu: '1' }, max: { memory: '1Gi' } }] } },
  certificatesigningrequests: {
    spec: { request: 'AAAA', signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
  },
  leases: {
    spec: { holderIdentity: 'a', leaseDurationSeconds: 1, renewTime: '2026-01-01T00:00:00.000000Z' },
  },
  namespaces: { spec: { finalizers: ['kubernetes'] } },
  subjectaccessreviews: { spec: { user: 'u', resourceAttributes: { verb: 'get', resource: 'pods' } } },
  tokenreviews: { spec: { token: 'x', audiences: ['a'] } },
};
