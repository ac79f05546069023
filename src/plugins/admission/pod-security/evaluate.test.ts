// Every check of Pod Security, at the versions where it changes: what a pod of one fault is told, word by word.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../../api/generated/types/core-v1.ts';
import { violationsOf, violationText } from './evaluate.ts';
import { policyOf } from './policy.ts';

/** What both levels ask for and no more. */
const hardened = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

type More = Readonly<Record<string, unknown>>;

interface Faults {
  readonly container?: More;
  readonly context?: More;
  readonly spec?: More;
  readonly annotations?: Readonly<Record<string, string>>;
}

const pod = ({ container, context, spec, annotations }: Faults) => ({
  annotations: annotations ?? {},
  spec: {
    containers: [{ name: 'a', image: 'i', securityContext: { ...hardened, ...context }, ...container }],
    ...spec,
  } as unknown as PodSpec,
});

const said = (level: string, faults: Faults): string => {
  const [name, version] = level.split(':');
  const { policy } = policyOf({
    'pod-security.kubernetes.io/enforce': name,
    'pod-security.kubernetes.io/enforce-version': version ?? 'latest',
  });
  return violationText(violationsOf(policy.enforce, pod(faults)));
};

const podContext = (context: More): Faults => ({ spec: { securityContext: context } });
const sysctl = (name: string): Faults => podContext({ sysctls: [{ name, value: '1' }] });
const probe = (handler: More): Faults => ({ container: { livenessProbe: handler } });
const unconfined = { type: 'Unconfined' };

const baseline: readonly (readonly [level: string, faults: Faults, text: string])[] = [
  ['baseline', {}, ''],
  [
    'baseline',
    { context: { appArmorProfile: unconfined } },
    'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
  ],
  [
    'baseline',
    { annotations: { 'container.apparmor.security.beta.kubernetes.io/a': 'unconfined' } },
    'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/a="unconfined"")',
  ],
  ['baseline', { annotations: { 'container.apparmor.security.beta.kubernetes.io/a': 'localhost/mine' } }, ''],
  [
    'baseline',
    { context: { capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'NET_RAW'] } } },
    'non-default capabilities (container "a" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
  ],
  [
    'baseline',
    { spec: { hostNetwork: true, hostPID: true, hostIPC: true } },
    'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)',
  ],
  [
    'baseline',
    {
      spec: {
        volumes: [
          { name: 'v', hostPath: { path: '/' } },
          { name: 'w', hostPath: { path: '/' } },
        ],
      },
    },
    'hostPath volumes (volumes "v", "w")',
  ],
  [
    'baseline',
    { container: { ports: [{ containerPort: 1, hostPort: 8080 }] } },
    'hostPort (container "a" uses hostPort 8080)',
  ],
  ...[
    probe({ httpGet: { port: 1, host: 'h' } }),
    probe({ tcpSocket: { port: 1, host: 'h' } }),
    { container: { readinessProbe: { httpGet: { port: 1, host: 'h' } } } },
    { container: { startupProbe: { tcpSocket: { port: 1, host: 'h' } } } },
    { container: { lifecycle: { preStop: { httpGet: { port: 1, host: 'h' } } } } },
    { container: { lifecycle: { postStart: { tcpSocket: { port: 1, host: 'h' } } } } },
  ].map(
    (faults) =>
      [
        'baseline',
        faults,
        'probe or lifecycle host (container "a" uses probe or lifecycle host "h")',
      ] as const,
  ),
  [
    'baseline:v1.34',
    probe({ httpGet: { port: 1, host: 'h' } }),
    'probe or lifecycle host (container "a" uses probe or lifecycle host "h")',
  ],
  ['baseline:v1.33', probe({ httpGet: { port: 1, host: 'h' } }), ''],
  [
    'baseline',
    { context: { privileged: true } },
    'privileged (container "a" must not set securityContext.privileged=true)',
  ],
  [
    'baseline',
    { context: { procMount: 'Unmasked' } },
    'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
  ],
  ['baseline', { context: { procMount: 'Unmasked' }, spec: { hostUsers: false } }, ''],
  [
    'baseline:v1.34',
    { context: { procMount: 'Unmasked' }, spec: { hostUsers: false } },
    'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
  ],
  [
    'baseline',
    { context: { seLinuxOptions: { type: 't', user: 'u', role: 'r' } } },
    'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "t"; user may not be set; role may not be set)',
  ],
  ['baseline', { context: { seLinuxOptions: { type: 'container_engine_t' } } }, ''],
  [
    'baseline:v1.30',
    { context: { seLinuxOptions: { type: 'container_engine_t' } } },
    'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "container_engine_t")',
  ],
  [
    'baseline',
    { context: { seccompProfile: unconfined } },
    'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
  ],
  ['baseline:v1.18', { context: { seccompProfile: unconfined } }, ''],
  [
    'baseline:v1.18',
    { annotations: { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' } },
    'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
  ],
  ['baseline', sysctl('kernel.msgmax'), 'forbidden sysctls (kernel.msgmax)'],
  ['baseline', sysctl('net.ipv4.tcp_rmem'), ''],
  ['baseline:v1.31', sysctl('net.ipv4.tcp_rmem'), 'forbidden sysctls (net.ipv4.tcp_rmem)'],
  ['baseline:v1.28', sysctl('net.ipv4.tcp_fin_timeout'), 'forbidden sysctls (net.ipv4.tcp_fin_timeout)'],
  [
    'baseline:v1.26',
    sysctl('net.ipv4.ip_local_reserved_ports'),
    'forbidden sysctls (net.ipv4.ip_local_reserved_ports)',
  ],
  [
    'baseline',
    podContext({ windowsOptions: { hostProcess: true } }),
    'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
  ],
];

const privilegeEscalation =
  'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)';
const dropAll =
  'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])';
const nonRoot = 'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)';
const withProfile =
  'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")';
const naked: Faults = { container: { securityContext: undefined } };

const restricted: readonly (readonly [level: string, faults: Faults, text: string])[] = [
  ['restricted', {}, ''],
  ['restricted', naked, [privilegeEscalation, dropAll, nonRoot, withProfile].join(', ')],
  ['restricted', { ...naked, spec: { os: { name: 'windows' } } }, nonRoot],
  [
    'restricted:v1.24',
    { ...naked, spec: { os: { name: 'windows' } } },
    [privilegeEscalation, dropAll, nonRoot, withProfile].join(', '),
  ],
  ['restricted:v1.21', naked, [privilegeEscalation, nonRoot, withProfile].join(', ')],
  ['restricted:v1.18', naked, [privilegeEscalation, nonRoot].join(', ')],
  ['restricted:v1.7', naked, nonRoot],
  ['restricted:v1.99', naked, [privilegeEscalation, dropAll, nonRoot, withProfile].join(', ')],
  [
    'restricted',
    { ...naked, spec: { hostUsers: false } },
    [privilegeEscalation, dropAll, withProfile].join(', '),
  ],
  ['restricted', { context: { runAsNonRoot: undefined, runAsUser: 0 }, spec: { hostUsers: false } }, ''],
  [
    'restricted',
    { context: { procMount: 'Unmasked' }, spec: { hostUsers: false } },
    'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
  ],
  [
    'restricted',
    { context: { capabilities: { drop: ['ALL'], add: ['CHOWN'] } } },
    'unrestricted capabilities (container "a" must not include "CHOWN" in securityContext.capabilities.add)',
  ],
  ['restricted', { context: { runAsUser: 0 } }, 'runAsUser=0 (container "a" must not set runAsUser=0)'],
  ['restricted:v1.22', { context: { runAsUser: 0 } }, ''],
  [
    'restricted',
    podContext({ runAsNonRoot: false }),
    'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
  ],
  [
    'restricted',
    podContext({ seccompProfile: unconfined }),
    'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  ],
  [
    'restricted',
    {
      spec: {
        volumes: [
          { name: 'v', hostPath: { path: '/' } },
          { name: 'n', nfs: {} },
          { name: 's', secret: {} },
        ],
      },
    },
    'restricted volume types (volumes "v", "n" use restricted volume types "hostPath", "nfs")',
  ],
];

test('each check says what upstream says, at each version where it changes', () => {
  for (const [level, faults, text] of [...baseline, ...restricted])
    assert.equal(said(level, faults), text, `${level} ${JSON.stringify(faults)}`);
});

test('init and ephemeral containers are judged as the others', () => {
  const bad = { name: 'e', image: 'i', securityContext: { privileged: true } };
  for (const list of ['initContainers', 'ephemeralContainers'])
    assert.equal(
      said('baseline', { spec: { [list]: [bad] } }),
      'privileged (container "e" must not set securityContext.privileged=true)',
      list,
    );
});

test('labels that cannot be read are the strictest where they are enforced, and open where they are told', () => {
  const label = (name: string, value: string): Record<string, string> => ({
    [`pod-security.kubernetes.io/${name}`]: value,
  });
  const read = policyOf({
    ...label('enforce', 'x'),
    ...label('audit', 'x'),
    ...label('warn-version', '1.2'),
  });
  assert.deepEqual(read.policy, {
    enforce: { level: 'restricted', minor: undefined },
    audit: { level: 'privileged', minor: undefined },
    warn: { level: 'privileged', minor: undefined },
  });
  assert.equal(read.errors.length, 3);
  const enforced = policyOf({ ...label('enforce', 'baseline'), ...label('enforce-version', 'v1.24') });
  assert.deepEqual(enforced.policy.warn, { level: 'baseline', minor: 24 });
});
