// A PodSpec, in a pod or in the template of a workload.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, forbidden, invalid, required, tooLong } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { ipErrors } from '../../../apimachinery/validation/addresses.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, oneOf, optional } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type { HostAlias, PodResourceClaim, PodSpec } from '../../generated/types/core-v1.ts';
import type { PodFacts } from './validate-container.ts';
import {
  idErrors,
  securityProfileErrors,
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from './validate-container.ts';
import { volumeNames } from './validate-mounts.ts';
import { claimNames, validatePodResources, validateResources } from './validate-resources.ts';
import {
  validateAffinity,
  validateGates,
  validateNodeLabels,
  validateSpread,
  validateTolerations,
} from './validate-scheduling.ts';
import { validateVolumes } from './validate-volumes.ts';
import {
  validateHostProcess,
  validateOs,
  validateStopSignals,
  validateWindowsOptions,
} from './validate-windows.ts';

const restartPolicies: readonly string[] = ['Always', 'Never', 'OnFailure'];
const dnsPolicies = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];

/** `more`: volumes that come to the pods of a template by another way than its spec, as the claims of a stateful set. */
export function validatePodSpec(podSpec: Decoded<PodSpec>, path: string, more?: readonly string[]): Errors {
  const errors: Errors = [];
  const facts: PodFacts = {
    volumes: volumeNames(podSpec, more ?? []),
    claims: claimNames(podSpec),
    hostNetwork: podSpec.hostNetwork === true,
    hostUsers: podSpec.hostUsers !== false,
    restartPolicy: podSpec.restartPolicy ?? '',
    grace: podSpec.terminationGracePeriodSeconds,
    isPod: more === undefined,
  };
  errors.push(...validateVolumes(podSpec, path, facts.isPod));
  if (podSpec.resourceClaims !== undefined)
    errors.push(...claimErrors(podSpec.resourceClaims, `${path}.resourceClaims`));
  errors.push(...validateContainers(podSpec, path, facts));
  errors.push(...validateInitContainers(podSpec, path, facts));
  errors.push(...validateEphemeralContainers(podSpec, path, facts));
  if (podSpec.resources !== undefined) errors.push(...validatePodResources(`${path}.resources`, podSpec));
  if (!podSpec.restartPolicy) errors.push(required(`${path}.restartPolicy`));
  else errors.push(...oneOf(`${path}.restartPolicy`, podSpec.restartPolicy, restartPolicies));
  errors.push(...dnsErrors(podSpec, path));
  errors.push(...validateNodeLabels(podSpec.nodeSelector, `${path}.nodeSelector`));
  errors.push(...securityErrors(podSpec, `${path}.securityContext`));
  errors.push(...validateAffinity(podSpec.affinity, `${path}.affinity`));
  (podSpec.readinessGates ?? []).forEach((gate, i) => {
    errors.push(
      ...each(`${path}.readinessGates[${i}].conditionType`, gate.conditionType ?? '', qualifiedNameErrors),
    );
  });
  errors.push(...validateGates(podSpec.schedulingGates, `${path}.schedulingGates`));
  if ((podSpec.schedulingGates ?? []).length > 0 && podSpec.nodeName)
    errors.push(forbidden(`${path}.nodeName`, 'cannot be set until all schedulingGates have been cleared'));
  if (podSpec.hostnameOverride !== undefined) errors.push(...hostnameOverrideErrors(podSpec, path));
  errors.push(...optional(`${path}.serviceAccountName`, podSpec.serviceAccountName, dnsSubdomain));
  errors.push(...optional(`${path}.nodeName`, podSpec.nodeName, dnsSubdomain));
  const deadline = podSpec.activeDeadlineSeconds;
  if (deadline !== undefined && ((deadline ?? 0) < 1 || (deadline ?? 0) > 2147483647))
    errors.push(
      invalid(`${path}.activeDeadlineSeconds`, deadline, 'must be between 1 and 2147483647, inclusive'),
    );
  errors.push(...optional(`${path}.hostname`, podSpec.hostname, dnsLabel));
  errors.push(...optional(`${path}.subdomain`, podSpec.subdomain, dnsLabel));
  errors.push(...validateTolerations(podSpec.tolerations, `${path}.tolerations`));
  errors.push(...hostAliasErrors(podSpec.hostAliases, `${path}.hostAliases`));
  errors.push(...optional(`${path}.priorityClassName`, podSpec.priorityClassName, dnsSubdomain));
  errors.push(...optional(`${path}.runtimeClassName`, podSpec.runtimeClassName, dnsSubdomain));
  if (podSpec.preemptionPolicy !== undefined)
    errors.push(
      ...oneOf(`${path}.preemptionPolicy`, podSpec.preemptionPolicy, ['Never', 'PreemptLowerPriority']),
    );
  errors.push(...validateSpread(podSpec.topologySpreadConstraints, `${path}.topologySpreadConstraints`));
  if (podSpec.hostUsers === false) errors.push(...userNamespaceErrors(podSpec, path));
  if (podSpec.overhead !== undefined)
    errors.push(...validateResources(`${path}.overhead`, { limits: podSpec.overhead }));
  errors.push(
    ...validateOs(podSpec, path),
    ...validateStopSignals(podSpec, path),
    ...validateHostProcess(podSpec, path),
  );
  return errors;
}

const maxHostname = 64;

/** A name that is no longer than the kernel takes, and the only one that the pod is given. */
function hostnameOverrideErrors(podSpec: Decoded<PodSpec>, path: string): Errors {
  const { hostnameOverride = '', setHostnameAsFQDN, hostNetwork } = podSpec;
  const field = `${path}.hostnameOverride`;
  return [
    ...(setHostnameAsFQDN === true
      ? [forbidden(field, 'may not be specified when setHostnameAsFQDN is true')]
      : []),
    ...(hostNetwork === true ? [forbidden(field, 'may not be specified when hostNetwork is true')] : []),
    ...(hostnameOverride.length > maxHostname ? [tooLong(field, maxHostname)] : []),
    ...each(field, hostnameOverride, dnsSubdomain),
  ];
}

/** What is the node's own can't be seen with users that are not. Upstream writes two of the names so. */
const userNamespaceErrors = (podSpec: Decoded<PodSpec>, path: string): Errors =>
  (
    [
      ['hostNetwork', 'hostNetwork'],
      ['hostPID', 'HostPID'],
      ['hostIPC', 'HostIPC'],
    ] as const
  ).flatMap(([field, shown]) =>
    podSpec[field] === true ? [forbidden(`${path}.${shown}`, 'when `pod.Spec.HostUsers` is false')] : [],
  );

function claimErrors(claims: readonly Decoded<PodResourceClaim>[], path: string): Errors {
  const seen = new Set<string>();
  return claims.flatMap((claim, i) => {
    const at = `${path}[${i}]`;
    const { name = '', resourceClaimName: direct, resourceClaimTemplateName: template } = claim;
    const errors: Errors = [];
    if (name === '') errors.push(required(`${at}.name`));
    else if (seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    else errors.push(...each(`${at}.name`, name, dnsLabel));
    seen.add(name);
    // As Go prints a type of its own: by the names of its fields there.
    const shown = {
      Name: name,
      ResourceClaimName: direct ?? null,
      ResourceClaimTemplateName: template ?? null,
    };
    const both = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
    const none = 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`';
    if (direct !== undefined && template !== undefined) errors.push(invalid(at, shown, both));
    if (direct === undefined && template === undefined) errors.push(invalid(at, shown, none));
    if (direct !== undefined) errors.push(...each(`${at}.resourceClaimName`, direct, dnsSubdomain));
    if (template !== undefined)
      errors.push(...each(`${at}.resourceClaimTemplateName`, template, dnsSubdomain));
    return errors;
  });
}

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchCharacters = 2048;

function dnsErrors(podSpec: Decoded<PodSpec>, path: string): Errors {
  const policy = podSpec.dnsPolicy ?? '';
  const errors: Errors =
    policy === '' ? [required(`${path}.dnsPolicy`)] : oneOf(`${path}.dnsPolicy`, policy, dnsPolicies);
  const config = podSpec.dnsConfig;
  const at = `${path}.dnsConfig`;
  if (policy === 'None' && config === undefined)
    return [...errors, required(at, 'must provide `dnsConfig` when `dnsPolicy` is None')];
  if (config === undefined) return errors;
  const servers = config.nameservers ?? [];
  if (policy === 'None' && servers.length === 0)
    errors.push(
      required(`${at}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None'),
    );
  if (servers.length > maxNameservers)
    errors.push(
      invalid(`${at}.nameservers`, servers, `must not have more than ${maxNameservers} nameservers`),
    );
  servers.forEach((server, i) => {
    errors.push(...each(`${at}.nameservers[${i}]`, server, ipErrors));
  });
  const searches = config.searches ?? [];
  if (searches.length > maxSearches)
    errors.push(invalid(`${at}.searches`, searches, `must not have more than ${maxSearches} search paths`));
  if (searches.join(' ').length > maxSearchCharacters)
    errors.push(
      invalid(
        `${at}.searches`,
        searches,
        `must not have more than ${maxSearchCharacters} characters (including spaces) in the search list`,
      ),
    );
  searches.forEach((search, i) => {
    const name = search.endsWith('.') ? search.slice(0, -1) : search;
    if (search !== '.') errors.push(...each(`${at}.searches[${i}]`, name.replaceAll('_', 'x'), dnsSubdomain));
  });
  (config.options ?? []).forEach((option, i) => {
    if (!option.name) errors.push(required(`${at}.options[${i}]`, 'must not be empty'));
  });
  return errors;
}

function hostAliasErrors(aliases: readonly Decoded<HostAlias>[] | undefined, path: string): Errors {
  return (aliases ?? []).flatMap((alias, i) => [
    ...each(`${path}[${i}].ip`, alias.ip ?? '', ipErrors),
    ...(alias.hostnames ?? []).flatMap((name, j) =>
      each(`${path}[${i}].hostnames[${j}]`, name, dnsSubdomain),
    ),
  ]);
}

const sysctlName = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*$/;
const sysctlFormat = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';

/** Kernel parameters of a namespace that the node shares with the pod are the node's. */
function namespaceErrors(podSpec: Decoded<PodSpec>, field: string, name: string): Errors {
  // `net/a.b` is written with dots as `net.a/b`.
  const separator = /[./]/.exec(name)?.[0];
  const dotted = separator === '/' ? name.replaceAll(/[./]/g, (mark) => (mark === '/' ? '.' : '/')) : name;
  const ofIpc = dotted === 'kernel.sem' || /^(?:kernel\.shm|kernel\.msg|fs\.mqueue\.)/.test(dotted);
  if (podSpec.hostNetwork === true && dotted.startsWith('net.'))
    return [invalid(field, name, "may not be specified when 'hostNetwork' is true")];
  return podSpec.hostIPC === true && ofIpc
    ? [invalid(field, name, "may not be specified when 'hostIPC' is true")]
    : [];
}

function sysctlErrors(podSpec: Decoded<PodSpec>, at: string): Errors {
  const names = new Set<string>();
  return (podSpec.securityContext?.sysctls ?? []).flatMap(({ name = '' }, i) => {
    const field = `${at}[${i}].name`;
    const errors: Errors = [];
    if (name === '') errors.push(required(field));
    else if (name.length > 253 || !sysctlName.test(name))
      errors.push(invalid(field, name, `must have at most 253 characters and match regex ${sysctlFormat}`));
    else if (names.has(name)) errors.push(duplicate(field, name));
    names.add(name);
    return [...errors, ...namespaceErrors(podSpec, field, name)];
  });
}

function securityErrors(podSpec: Decoded<PodSpec>, at: string): Errors {
  const context = podSpec.securityContext ?? {};
  const errors: Errors = [];
  for (const id of ['fsGroup', 'runAsUser', 'runAsGroup'] as const)
    errors.push(...idErrors(`${at}.${id}`, context[id]));
  (context.supplementalGroups ?? []).forEach((group, i) => {
    errors.push(...idErrors(`${at}.supplementalGroups[${i}]`, group));
  });
  if (podSpec.shareProcessNamespace === true && podSpec.hostPID === true)
    errors.push(
      invalid(
        `${at}.shareProcessNamespace`,
        true,
        'ShareProcessNamespace and HostPID cannot both be enabled',
      ),
    );
  errors.push(...sysctlErrors(podSpec, `${at}.sysctls`));
  if (context.fsGroupChangePolicy !== undefined)
    errors.push(
      ...oneOf(`${at}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']),
    );
  if (context.supplementalGroupsPolicy !== undefined)
    errors.push(
      ...oneOf(`${at}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']),
    );
  if (context.seLinuxChangePolicy !== undefined)
    errors.push(
      ...oneOf(`${at}.seLinuxChangePolicy`, context.seLinuxChangePolicy, ['MountOption', 'Recursive']),
    );
  errors.push(...securityProfileErrors(at, context));
  errors.push(...validateWindowsOptions(`${at}.windowsOptions`, context.windowsOptions));
  return errors;
}
