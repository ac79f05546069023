// Containers of a pod: ordinary, init and ephemeral ones.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import {
  duplicate,
  forbidden,
  invalid,
  notFound,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, named, oneOf, optional } from '../../../apimachinery/validation/checks.ts';
import {
  configMapKey,
  dnsLabel,
  dnsSubdomain,
  envVarName,
  isPort,
  portName,
  portRange,
} from '../../../apimachinery/validation/names.ts';
import type {
  AppArmorProfile,
  ConfigMapKeySelector,
  Container,
  ContainerPort,
  ContainerResizePolicy,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  EphemeralContainer,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
} from '../../generated/types/core-v1.ts';
import { envFieldPaths, fieldRefErrors, resourceFieldErrors } from './downward-selectors.ts';
import type { VolumeNames } from './validate-mounts.ts';
import { validateMounts } from './validate-mounts.ts';
import { type Seconds, validateLifecycle, validateProbe } from './validate-probe.ts';
import { validateResources } from './validate-resources.ts';
import { restartErrors } from './validate-restart.ts';
import { validateWindowsOptions } from './validate-windows.ts';
import { localDescendingPath } from './volume-paths.ts';

export interface PodFacts {
  readonly volumes: VolumeNames;
  readonly claims: ReadonlySet<string>;
  readonly hostNetwork: boolean;
  readonly hostUsers: boolean;
  readonly restartPolicy: string;
  readonly grace: Seconds;
  /** False in a template, where some is filled in when its pods are made. */
  readonly isPod: boolean;
}

const protocols = ['SCTP', 'TCP', 'UDP'];
const pullPolicies = ['Always', 'IfNotPresent', 'Never'];
const messagePolicies = ['FallbackToLogsOnError', 'File'];

/** What all three sorts share. */
function commonErrors(container: Decoded<Container>, at: string, facts: PodFacts): Errors {
  const errors: Errors = [];
  const name = container.name ?? '';
  if (name === '') errors.push(required(`${at}.name`));
  else errors.push(...each(`${at}.name`, name, dnsLabel));
  const image = container.image ?? '';
  if (image === '') errors.push(required(`${at}.image`));
  else if (facts.isPod && image !== image.trim())
    errors.push(invalid(`${at}.image`, image, 'must not have leading or trailing whitespace'));
  const messages = container.terminationMessagePolicy ?? '';
  if (messages === '') errors.push(required(`${at}.terminationMessagePolicy`));
  else errors.push(...oneOf(`${at}.terminationMessagePolicy`, messages, messagePolicies));
  errors.push(...portErrors(container.ports ?? [], `${at}.ports`));
  errors.push(
    ...envErrors(container.env ?? [], `${at}.env`),
    ...envFromErrors(container.envFrom ?? [], `${at}.envFrom`),
  );
  errors.push(...validateMounts(container, at, facts.volumes));
  const policy = container.imagePullPolicy ?? '';
  if (policy === '') errors.push(required(`${at}.imagePullPolicy`));
  else errors.push(...oneOf(`${at}.imagePullPolicy`, policy, pullPolicies));
  errors.push(...validateResources(`${at}.resources`, container.resources ?? {}, facts.claims));
  if (container.resizePolicy !== undefined)
    errors.push(...resizeErrors(container.resizePolicy, `${at}.resizePolicy`, facts.restartPolicy));
  errors.push(...securityErrors(container.securityContext, `${at}.securityContext`, facts.hostUsers));
  return errors;
}

function portErrors(ports: readonly Decoded<ContainerPort>[], path: string): Errors {
  const errors: Errors = [];
  const names = new Set<string>();
  ports.forEach((port, i) => {
    const at = `${path}[${i}]`;
    const name = port.name ?? '';
    if (name !== '') {
      const wrong = each(`${at}.name`, name, portName);
      errors.push(...wrong);
      if (wrong.length === 0 && names.has(name)) errors.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    const number = port.containerPort ?? 0;
    if (number === 0) errors.push(required(`${at}.containerPort`));
    else if (!isPort(number)) errors.push(invalid(`${at}.containerPort`, number, portRange));
    const host = port.hostPort ?? 0;
    if (host !== 0 && !isPort(host)) errors.push(invalid(`${at}.hostPort`, host, portRange));
    if (!port.protocol) errors.push(required(`${at}.protocol`));
    else errors.push(...oneOf(`${at}.protocol`, port.protocol, protocols));
  });
  return errors;
}

function envErrors(env: readonly Decoded<EnvVar>[], path: string): Errors {
  return env.flatMap((variable, i) => {
    if (variable.valueFrom === undefined && envVarName(variable.name ?? '').length === 0) return [];
    const at = `${path}[${i}]`;
    const name = variable.name ?? '';
    const errors: Errors = name === '' ? [required(`${at}.name`)] : each(`${at}.name`, name, envVarName);
    const from = variable.valueFrom;
    if (from === undefined) return errors;
    const sources = Object.keys(from) as (keyof EnvVarSource & string)[];
    const wrong = sourceFault(variable.value ?? '', sources.length);
    if (wrong !== undefined) errors.push(invalid(`${at}.valueFrom`, '', wrong));
    for (const source of sources)
      errors.push(...(envSourceRules[source]?.(`${at}.valueFrom.${source}`, from[source] as never) ?? []));
    return errors;
  });
}

function sourceFault(value: string, sources: number): string | undefined {
  if (value !== '' && sources > 0) return 'may not be specified when `value` is not empty';
  if (sources === 0)
    return 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
  return sources > 1 ? 'may not have more than one field specified at a time' : undefined;
}

/** What each source must say; the others have no rules of their own. */
const envSourceRules: {
  readonly [Kind in keyof EnvVarSource]?: (
    at: string,
    source: Decoded<NonNullable<EnvVarSource[Kind]>>,
  ) => Errors;
} = {
  fieldRef: (at, ref) => fieldRefErrors(at, ref, envFieldPaths),
  resourceFieldRef: resourceFieldErrors,
  configMapKeyRef: keyRefErrors,
  secretKeyRef: keyRefErrors,
};

function keyRefErrors(at: string, { name, key }: Decoded<ConfigMapKeySelector>): Errors {
  return [...each(`${at}.name`, name, dnsSubdomain), ...named(`${at}.key`, key, configMapKey)];
}

function envFromErrors(sources: readonly Decoded<EnvFromSource>[], path: string): Errors {
  return sources.flatMap((source, i) => {
    const at = `${path}[${i}]`;
    const errors: Errors = optional(`${at}.prefix`, source.prefix, envVarName);
    const kinds = (['configMapRef', 'secretRef'] as const).filter((k) => source[k] !== undefined);
    if (kinds.length === 0)
      errors.push(invalid(at, '', 'must specify one of: `configMapRef` or `secretRef`'));
    if (kinds.length > 1)
      errors.push(invalid(at, '', 'may not have more than one field specified at a time'));
    for (const kind of kinds) errors.push(...named(`${at}.${kind}.name`, source[kind]?.name, dnsSubdomain));
    return errors;
  });
}

const idRange = 'must be between 0 and 2147483647, inclusive';
export function idErrors(field: string, value: number | bigint | undefined): Errors {
  return value !== undefined && (value < 0 || value > 2147483647) ? [invalid(field, value, idRange)] : [];
}

function securityErrors(
  context: Decoded<SecurityContext> | undefined,
  at: string,
  hostUsers: boolean,
): Errors {
  if (context === undefined) return [];
  const errors = [
    ...idErrors(`${at}.runAsUser`, context.runAsUser),
    ...idErrors(`${at}.runAsGroup`, context.runAsGroup),
  ];
  if (context.procMount !== undefined)
    errors.push(...oneOf(`${at}.procMount`, context.procMount, ['Default', 'Unmasked']));
  // Nothing of /proc is hidden from it, so it must not be root of the node's own user namespace.
  if (context.procMount === 'Unmasked' && hostUsers)
    errors.push(invalid(`${at}.procMount`, 'Unmasked', '`hostUsers` must be false to use `Unmasked`'));
  errors.push(...securityProfileErrors(at, context));
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true)
      errors.push(
        invalid(at, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'),
      );
    if ((context.capabilities?.add ?? []).includes('CAP_SYS_ADMIN'))
      errors.push(
        invalid(
          at,
          context,
          'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
        ),
      );
  }
  errors.push(...validateWindowsOptions(`${at}.windowsOptions`, context.windowsOptions));
  return errors;
}

/** A profile of the node: a file below the kubelet's folder of profiles (seccomp), or a name that the kernel knows (AppArmor). */
interface ProfileRules {
  readonly what: 'seccomp' | 'AppArmor';
  readonly typeMissing: string;
  readonly local: (field: string, value: string) => Errors;
}

const longestProfileName = 4095;

const seccompRules: ProfileRules = {
  what: 'seccomp',
  typeMissing: 'type is required when seccompProfile is set',
  local: localDescendingPath,
};

const appArmorRules: ProfileRules = {
  what: 'AppArmor',
  typeMissing: 'type is required when appArmorProfile is set',
  local: (field, value) => [
    ...(value.trim() === value ? [] : [invalid(field, value, 'must not be padded with whitespace')]),
    ...(value.length > longestProfileName ? [tooLong(field, longestProfileName)] : []),
  ],
};

function profileErrors(
  field: string,
  profile: Decoded<SeccompProfile | AppArmorProfile> | undefined,
  rules: ProfileRules,
): Errors {
  if (profile === undefined) return [];
  const type = profile.type ?? '';
  const local = profile.localhostProfile;
  const at = `${field}.localhostProfile`;
  if (type === '') return [required(`${field}.type`, rules.typeMissing)];
  if (type === 'Localhost' && (local === undefined || local === ''))
    return [required(at, `must be set when ${rules.what} type is Localhost`)];
  if (type !== 'Localhost' && local !== undefined)
    return [invalid(at, local, `can only be set when ${rules.what} type is Localhost`)];
  return [
    ...oneOf(`${field}.type`, type, ['Localhost', 'RuntimeDefault', 'Unconfined']),
    ...(local === undefined ? [] : rules.local(at, local)),
  ];
}

/** Both profiles of a container's or a pod's security context. */
export const securityProfileErrors = (
  at: string,
  context: Decoded<SecurityContext | PodSecurityContext>,
): Errors => [
  ...profileErrors(`${at}.seccompProfile`, context.seccompProfile, seccompRules),
  ...profileErrors(`${at}.appArmorProfile`, context.appArmorProfile, appArmorRules),
];

const resizable = ['cpu', 'memory'];
const resizePolicies = ['NotRequired', 'RestartContainer'];

function resizeErrors(
  policies: readonly Decoded<ContainerResizePolicy>[],
  at: string,
  podPolicy: string,
): Errors {
  const seen = new Set<string>();
  return policies.flatMap(({ resourceName: name = '', restartPolicy: policy = '' }, i) => {
    const errors: Errors = seen.has(name) ? [duplicate(`${at}[${i}]`, name)] : [];
    seen.add(name);
    if (name === '') errors.push(required(at));
    else errors.push(...oneOf(at, name, resizable));
    if (policy === '') errors.push(required(at));
    else errors.push(...oneOf(at, policy, resizePolicies));
    if (podPolicy === 'Never' && policy !== 'NotRequired')
      errors.push(invalid(at, policy, "must be 'NotRequired' when `restartPolicy` is 'Never'"));
    return errors;
  });
}

/** On the node's own network a port is the node's; that of a template is filled in when its pods are made. */
function hostNetworkErrors(containers: readonly Decoded<Container>[], path: string, isPod: boolean): Errors {
  return containers.flatMap(({ ports = [] }, c) =>
    ports.flatMap(({ hostPort = 0, containerPort = 0 }, p) =>
      hostPort === containerPort || (hostPort === 0 && !isPod)
        ? []
        : [
            invalid(
              `${path}[${c}].ports[${p}].hostPort`,
              hostPort,
              'must match `containerPort` when `hostNetwork` is true',
            ),
          ],
    ),
  );
}

function probesOf(container: Decoded<Container>, at: string, grace: Seconds): Errors {
  return [
    ...validateLifecycle(`${at}.lifecycle`, container.lifecycle, grace),
    ...validateProbe(`${at}.livenessProbe`, container.livenessProbe, 'liveness'),
    ...validateProbe(`${at}.readinessProbe`, container.readinessProbe, 'readiness'),
    ...validateProbe(`${at}.startupProbe`, container.startupProbe, 'startup'),
  ];
}

export function validateContainers(podSpec: Decoded<PodSpec>, path: string, facts: PodFacts): Errors {
  const containers = podSpec.containers ?? [];
  if (containers.length === 0) return [required(`${path}.containers`)];
  const errors: Errors = [];
  const names = new Set<string>();
  containers.forEach((container, i) => {
    const at = `${path}.containers[${i}]`;
    errors.push(...commonErrors(container, at, facts));
    const name = container.name ?? '';
    if (name !== '' && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    errors.push(...probesOf(container, at, facts.grace), ...restartErrors(container, at));
  });
  errors.push(...hostPortConflicts(containers, `${path}.containers`));
  if (facts.hostNetwork) errors.push(...hostNetworkErrors(containers, `${path}.containers`, facts.isPod));
  return errors;
}

function hostPortConflicts(containers: readonly Decoded<Container>[], path: string): Errors {
  const seen = new Set<string>();
  return containers.flatMap((container, c) =>
    (container.ports ?? []).flatMap((port, p) => {
      if ((port.hostPort ?? 0) === 0) return [];
      const key = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort ?? 0}`;
      if (seen.has(key)) return [duplicate(`${path}[${c}].ports[${p}].hostPort`, key)];
      seen.add(key);
      return [];
    }),
  );
}

export function validateInitContainers(podSpec: Decoded<PodSpec>, path: string, facts: PodFacts): Errors {
  const errors: Errors = [];
  const names = new Set((podSpec.containers ?? []).map((c) => c.name ?? ''));
  (podSpec.initContainers ?? []).forEach((container, i) => {
    const at = `${path}.initContainers[${i}]`;
    errors.push(...commonErrors(container, at, facts));
    const name = container.name ?? '';
    if (name !== '' && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    const policy = container.restartPolicy;
    if (policy !== undefined && policy !== 'Always') errors.push(...restartErrors(container, at));
    if (policy === 'Always') {
      if ((container.restartPolicyRules ?? []).length > 0)
        errors.push(
          forbidden(
            `${at}.restartPolicyRules`,
            'restartPolicyRules are not allowed for init containers with restart policy Always',
          ),
        );
      errors.push(...probesOf(container, at, facts.grace));
      return;
    }
    for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const)
      if (container[field] !== undefined)
        errors.push(
          forbidden(`${at}.${field}`, 'may not be set for init containers without restartPolicy=Always'),
        );
  });
  errors.push(...hostPortConflicts(podSpec.initContainers ?? [], `${path}.initContainers`));
  return errors;
}

const notForEphemeral: readonly (keyof EphemeralContainer & string)[] = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resources',
  'resizePolicy',
];

export function validateEphemeralContainers(
  podSpec: Decoded<PodSpec>,
  path: string,
  facts: PodFacts,
): Errors {
  const errors: Errors = [];
  const targets = new Set((podSpec.containers ?? []).map((c) => c.name ?? ''));
  const names = new Set([...targets, ...(podSpec.initContainers ?? []).map((c) => c.name ?? '')]);
  (podSpec.ephemeralContainers ?? []).forEach((container, i) => {
    const at = `${path}.ephemeralContainers[${i}]`;
    errors.push(...commonErrors(container, at, facts));
    const name = container.name ?? '';
    if (name !== '' && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    const target = container.targetContainerName ?? '';
    if (target !== '' && !targets.has(target)) errors.push(notFound(`${at}.targetContainerName`, target));
    for (const field of notForEphemeral) {
      const value = container[field];
      if (value !== undefined && (typeof value !== 'object' || Object.keys(value ?? {}).length > 0))
        errors.push(forbidden(`${at}.${field}`, 'cannot be set for an Ephemeral Container'));
    }
    (container.volumeMounts ?? []).forEach((mount, m) => {
      for (const sub of ['subPath', 'subPathExpr'] as const)
        if (mount[sub])
          errors.push(
            forbidden(`${at}.volumeMounts[${m}].${sub}`, 'cannot be set for an Ephemeral Container'),
          );
    });
  });
  return errors;
}
