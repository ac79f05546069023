// Containers of a pod: ordinary, init and ephemeral ones.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import {
  duplicate,
  forbidden,
  invalid,
  notFound,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import { arr, isObject, num, obj, objs, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, oneOf } from '../../../apimachinery/validation/checks.ts';
import {
  configMapKey,
  dnsLabel,
  dnsSubdomain,
  envVarName,
  isPort,
  portName,
  portRange,
} from '../../../apimachinery/validation/names.ts';
import { validateLifecycle, validateProbe } from './validate-probe.ts';
import { validateResources } from './validate-resources.ts';
import type { VolumeNames } from './validate-volumes.ts';
import { validateMounts } from './validate-volumes.ts';
import { validateWindowsOptions } from './validate-windows.ts';

export interface PodFacts {
  readonly volumes: VolumeNames;
  readonly claims: ReadonlySet<string>;
  readonly hostNetwork: boolean;
  readonly hostUsers: boolean;
}

const protocols = ['SCTP', 'TCP', 'UDP'];
const pullPolicies = ['Always', 'IfNotPresent', 'Never'];
const messagePolicies = ['FallbackToLogsOnError', 'File'];

/** What all three sorts share. */
function commonErrors(container: JsonObject, at: string, facts: PodFacts): Errors {
  const errors: Errors = [];
  const name = str(container['name']);
  if (name === '') errors.push(required(`${at}.name`));
  else errors.push(...each(`${at}.name`, name, dnsLabel));
  const image = str(container['image']);
  if (image === '') errors.push(required(`${at}.image`));
  else if (image !== image.trim())
    errors.push(invalid(`${at}.image`, image, 'must not have leading or trailing whitespace'));
  const messages = str(container['terminationMessagePolicy']);
  if (messages === '') errors.push(required(`${at}.terminationMessagePolicy`));
  else errors.push(...oneOf(`${at}.terminationMessagePolicy`, messages, messagePolicies));
  errors.push(...portErrors(objs(container['ports']), `${at}.ports`, facts.hostNetwork));
  errors.push(
    ...envErrors(objs(container['env']), `${at}.env`),
    ...envFromErrors(objs(container['envFrom']), `${at}.envFrom`),
  );
  errors.push(...validateMounts(container, at, facts.volumes));
  const policy = str(container['imagePullPolicy']);
  if (policy === '') errors.push(required(`${at}.imagePullPolicy`));
  else errors.push(...oneOf(`${at}.imagePullPolicy`, policy, pullPolicies));
  errors.push(...validateResources(`${at}.resources`, obj(container['resources']), facts.claims));
  errors.push(...securityErrors(container['securityContext'], `${at}.securityContext`, facts.hostUsers));
  return errors;
}

function portErrors(ports: readonly JsonObject[], path: string, hostNetwork: boolean): Errors {
  const errors: Errors = [];
  const names = new Set<string>();
  ports.forEach((port, i) => {
    const at = `${path}[${i}]`;
    const name = str(port['name']);
    if (name !== '') {
      const wrong = each(`${at}.name`, name, portName);
      errors.push(...wrong);
      if (wrong.length === 0 && names.has(name)) errors.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    const number = num(port['containerPort']);
    if (number === 0) errors.push(required(`${at}.containerPort`));
    else if (!isPort(number)) errors.push(invalid(`${at}.containerPort`, number, portRange));
    const host = num(port['hostPort']);
    if (host !== 0 && !isPort(host)) errors.push(invalid(`${at}.hostPort`, host, portRange));
    if (hostNetwork && host !== number)
      errors.push(invalid(`${at}.hostPort`, host, 'must match `containerPort` when `hostNetwork` is true'));
    if (str(port['protocol']) === '') errors.push(required(`${at}.protocol`));
    else errors.push(...oneOf(`${at}.protocol`, port['protocol'], protocols));
  });
  return errors;
}

const fieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const resourceNames = /^(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-.+)$/;

function envErrors(env: readonly JsonObject[], path: string): Errors {
  return env.flatMap((variable, i) => {
    const at = `${path}[${i}]`;
    const name = str(variable['name']);
    const errors: Errors = name === '' ? [required(`${at}.name`)] : each(`${at}.name`, name, envVarName);
    const from = variable['valueFrom'];
    if (!isObject(from)) return errors;
    const sources = Object.keys(from).filter((k) => isObject(from[k]));
    if (str(variable['value']) !== '' && sources.length > 0)
      errors.push(invalid(`${at}.valueFrom`, '', 'may not be specified when `value` is not empty'));
    else if (sources.length === 0)
      errors.push(
        invalid(
          `${at}.valueFrom`,
          '',
          'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
        ),
      );
    else if (sources.length > 1)
      errors.push(invalid(`${at}.valueFrom`, '', 'may not have more than one field specified at a time'));
    for (const source of sources)
      errors.push(...envSourceErrors(`${at}.valueFrom.${source}`, source, obj(from[source])));
    return errors;
  });
}

function envSourceErrors(at: string, kind: string, source: JsonObject): Errors {
  if (kind === 'fieldRef') {
    const path = str(source['fieldPath']);
    if (path === '') return [required(`${at}.fieldPath`)];
    const subscript = /^metadata\.(?:annotations|labels)\['.*'\]$/.test(path);
    if (
      path === 'metadata.annotations' ||
      path === 'metadata.labels' ||
      (!subscript && !fieldPaths.includes(path))
    )
      return [
        {
          type: 'FieldValueNotSupported',
          field: `${at}.fieldPath`,
          message: `Unsupported value: ${JSON.stringify(path)}: supported values: ${fieldPaths.map((p) => JSON.stringify(p)).join(', ')}`,
        },
      ];
    return [];
  }
  if (kind === 'resourceFieldRef') {
    const resource = str(source['resource']);
    if (resource === '') return [required(`${at}.resource`)];
    return resourceNames.test(resource)
      ? []
      : oneOf(`${at}.resource`, resource, [
          'limits.cpu',
          'limits.ephemeral-storage',
          'limits.memory',
          'requests.cpu',
          'requests.ephemeral-storage',
          'requests.memory',
        ]);
  }
  if (kind === 'configMapKeyRef' || kind === 'secretKeyRef') {
    const errors: Errors =
      str(source['name']) === ''
        ? [required(`${at}.name`)]
        : each(`${at}.name`, source['name'], dnsSubdomain);
    if (str(source['key']) === '') errors.push(required(`${at}.key`));
    else errors.push(...each(`${at}.key`, source['key'], configMapKey));
    return errors;
  }
  return [];
}

function envFromErrors(sources: readonly JsonObject[], path: string): Errors {
  return sources.flatMap((source, i) => {
    const at = `${path}[${i}]`;
    const errors: Errors =
      str(source['prefix']) === '' ? [] : each(`${at}.prefix`, source['prefix'], envVarName);
    const kinds = ['configMapRef', 'secretRef'].filter((k) => isObject(source[k]));
    if (kinds.length === 0)
      errors.push(invalid(at, '', 'must specify one of: `configMapRef` or `secretRef`'));
    if (kinds.length > 1)
      errors.push(invalid(at, '', 'may not have more than one field specified at a time'));
    for (const kind of kinds) {
      const name = obj(source[kind])['name'];
      errors.push(
        ...(str(name) === ''
          ? [required(`${at}.${kind}.name`)]
          : each(`${at}.${kind}.name`, name, dnsSubdomain)),
      );
    }
    return errors;
  });
}

const idRange = 'must be between 0 and 2147483647, inclusive';
export function idErrors(field: string, value: Json | undefined): Errors {
  return value !== undefined && (num(value) < 0 || num(value) > 2147483647)
    ? [invalid(field, value, idRange)]
    : [];
}

function securityErrors(context: Json | undefined, at: string, hostUsers: boolean): Errors {
  if (!isObject(context)) return [];
  const errors = [
    ...idErrors(`${at}.runAsUser`, context['runAsUser']),
    ...idErrors(`${at}.runAsGroup`, context['runAsGroup']),
  ];
  if (context['procMount'] !== undefined)
    errors.push(...oneOf(`${at}.procMount`, context['procMount'], ['Default', 'Unmasked']));
  // Nothing of /proc is hidden from it, so it must not be root of the node's own user namespace.
  if (context['procMount'] === 'Unmasked' && hostUsers)
    errors.push(invalid(`${at}.procMount`, 'Unmasked', '`hostUsers` must be false to use `Unmasked`'));
  errors.push(...securityProfileErrors(at, context));
  if (context['allowPrivilegeEscalation'] === false) {
    if (context['privileged'] === true)
      errors.push(
        invalid(at, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'),
      );
    if (arr(obj(context['capabilities'])['add']).includes('CAP_SYS_ADMIN'))
      errors.push(
        invalid(
          at,
          context,
          'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
        ),
      );
  }
  errors.push(...validateWindowsOptions(`${at}.windowsOptions`, context['windowsOptions']));
  return errors;
}

/** A profile of the node: a file below the kubelet's folder of profiles (seccomp), or a name that the kernel knows (AppArmor). */
interface ProfileRules {
  readonly what: 'seccomp' | 'AppArmor';
  readonly typeMissing: string;
  readonly local: (field: string, value: string) => Errors;
}

const longestProfileName = 4095;

/** A path that stays below the folder it is in. */
export function localDescendingPath(field: string, value: string): Errors {
  return [
    ...(value.startsWith('/') ? [invalid(field, value, 'must be a relative path')] : []),
    ...(value.split('/').includes('..') ? [invalid(field, value, "must not contain '..'")] : []),
  ];
}

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

function profileErrors(field: string, profile: Json | undefined, rules: ProfileRules): Errors {
  if (!isObject(profile)) return [];
  const type = str(profile['type']);
  const local = profile['localhostProfile'];
  const at = `${field}.localhostProfile`;
  if (type === '') return [required(`${field}.type`, rules.typeMissing)];
  if (type === 'Localhost' && (local === undefined || local === ''))
    return [required(at, `must be set when ${rules.what} type is Localhost`)];
  if (type !== 'Localhost' && local !== undefined)
    return [invalid(at, local, `can only be set when ${rules.what} type is Localhost`)];
  return [
    ...oneOf(`${field}.type`, type, ['Localhost', 'RuntimeDefault', 'Unconfined']),
    ...(local === undefined ? [] : rules.local(at, str(local))),
  ];
}

/** Both profiles of a container's or a pod's security context. */
export const securityProfileErrors = (at: string, context: JsonObject): Errors => [
  ...profileErrors(`${at}.seccompProfile`, context['seccompProfile'], seccompRules),
  ...profileErrors(`${at}.appArmorProfile`, context['appArmorProfile'], appArmorRules),
];

function probesOf(container: JsonObject, at: string): Errors {
  return [
    ...validateLifecycle(`${at}.lifecycle`, container['lifecycle']),
    ...validateProbe(`${at}.livenessProbe`, container['livenessProbe'], 'liveness'),
    ...validateProbe(`${at}.readinessProbe`, container['readinessProbe'], 'readiness'),
    ...validateProbe(`${at}.startupProbe`, container['startupProbe'], 'startup'),
  ];
}

export function validateContainers(podSpec: JsonObject, path: string, facts: PodFacts): Errors {
  const containers = objs(podSpec['containers']);
  if (containers.length === 0) return [required(`${path}.containers`)];
  const errors: Errors = [];
  const names = new Set<string>();
  containers.forEach((container, i) => {
    const at = `${path}.containers[${i}]`;
    errors.push(...commonErrors(container, at, facts));
    const name = str(container['name']);
    if (name !== '' && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    errors.push(...probesOf(container, at));
  });
  errors.push(...hostPortConflicts(containers, `${path}.containers`));
  return errors;
}

function hostPortConflicts(containers: readonly JsonObject[], path: string): Errors {
  const seen = new Set<string>();
  return containers.flatMap((container, c) =>
    objs(container['ports']).flatMap((port, p) => {
      if (num(port['hostPort']) === 0) return [];
      const key = `${str(port['protocol'])}/${str(port['hostIP'])}/${num(port['hostPort'])}`;
      if (seen.has(key)) return [duplicate(`${path}[${c}].ports[${p}].hostPort`, key)];
      seen.add(key);
      return [];
    }),
  );
}

export function validateInitContainers(podSpec: JsonObject, path: string, facts: PodFacts): Errors {
  const errors: Errors = [];
  const names = new Set(objs(podSpec['containers']).map((c) => str(c['name'])));
  objs(podSpec['initContainers']).forEach((container, i) => {
    const at = `${path}.initContainers[${i}]`;
    errors.push(...commonErrors(container, at, facts));
    const name = str(container['name']);
    if (name !== '' && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    const policy = container['restartPolicy'];
    if (policy !== undefined)
      errors.push(...oneOf(`${at}.restartPolicy`, policy, ['Always', 'Never', 'OnFailure']));
    if (policy === 'Always') {
      errors.push(...probesOf(container, at));
      return;
    }
    for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'])
      if (container[field] !== undefined)
        errors.push(
          forbidden(`${at}.${field}`, 'may not be set for init containers without restartPolicy=Always'),
        );
  });
  errors.push(...hostPortConflicts(objs(podSpec['initContainers']), `${path}.initContainers`));
  return errors;
}

const notForEphemeral = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resources',
  'resizePolicy',
];

export function validateEphemeralContainers(podSpec: JsonObject, path: string, facts: PodFacts): Errors {
  const errors: Errors = [];
  const targets = new Set(objs(podSpec['containers']).map((c) => str(c['name'])));
  const names = new Set([...targets, ...objs(podSpec['initContainers']).map((c) => str(c['name']))]);
  objs(podSpec['ephemeralContainers']).forEach((container, i) => {
    const at = `${path}.ephemeralContainers[${i}]`;
    errors.push(...commonErrors(container, at, facts));
    const name = str(container['name']);
    if (name !== '' && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    const target = str(container['targetContainerName']);
    if (target !== '' && !targets.has(target)) errors.push(notFound(`${at}.targetContainerName`, target));
    for (const field of notForEphemeral) {
      const value = container[field];
      if (value !== undefined && (typeof value !== 'object' || Object.keys(value ?? {}).length > 0))
        errors.push(forbidden(`${at}.${field}`, 'cannot be set for an Ephemeral Container'));
    }
    objs(container['volumeMounts']).forEach((mount, m) => {
      for (const sub of ['subPath', 'subPathExpr'])
        if (str(mount[sub]) !== '')
          errors.push(
            forbidden(`${at}.volumeMounts[${m}].${sub}`, 'cannot be set for an Ephemeral Container'),
          );
    });
  });
  return errors;
}
