// What spec.os decides: fields of one system are refused for the other, and the options that only Windows has.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  Container,
  PodSecurityContext,
  PodSpec,
  SecurityContext,
  WindowsSecurityContextOptions,
} from '../../generated/types/core-v1.ts';

const lists = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** A pod's spec or a container. */
type WithContext = Decoded<{ securityContext?: { windowsOptions?: WindowsSecurityContextOptions } }>;

/** Containers of all three lists with their paths. */
function containersOf(podSpec: Decoded<PodSpec>, path: string): [string, Decoded<Container>][] {
  return lists.flatMap((list) =>
    (podSpec[list] ?? []).map((c, i) => [`${path}.${list}[${i}]`, c] as [string, Decoded<Container>]),
  );
}

export function validateOs(podSpec: Decoded<PodSpec>, path: string): Errors {
  const os = podSpec.os;
  if (os === undefined) return [];
  const name = os.name ?? '';
  if (name === '') return [required(`${path}.os.name`)];
  if (name === 'linux') return linuxErrors(podSpec, path);
  if (name === 'windows') return windowsErrors(podSpec, path);
  return [notSupported(`${path}.os`, name, ['linux', 'windows'])];
}

function linuxErrors(podSpec: Decoded<PodSpec>, path: string): Errors {
  const holders: [string, WithContext][] = [[path, podSpec], ...containersOf(podSpec, path)];
  return holders.flatMap(([at, holder]) =>
    holder.securityContext?.windowsOptions === undefined
      ? []
      : [forbidden(`${at}.securityContext.windowsOptions`, 'windows options cannot be set for a linux pod')],
  );
}

const windowsPod = 'cannot be set for a windows pod';
const podContext: readonly (keyof PodSecurityContext & string)[] = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
];
const podContextAfterSysctls: readonly (keyof PodSecurityContext & string)[] = [
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
];
const containerContext: readonly (keyof SecurityContext & string)[] = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];

function windowsErrors(podSpec: Decoded<PodSpec>, path: string): Errors {
  const errors: Errors = [];
  const refuse = (field: string): void => {
    errors.push(forbidden(field, windowsPod));
  };
  if (podSpec.hostUsers !== undefined) refuse(`${path}.hostUsers`);
  if (podSpec.hostPID === true) refuse(`${path}.hostPID`);
  if (podSpec.hostIPC === true) refuse(`${path}.hostIPC`);
  if (podSpec.resources !== undefined)
    errors.push(forbidden(`${path}.resources`, 'may not be set for a windows pod'));
  const context = podSpec.securityContext ?? {};
  const at = `${path}.securityContext`;
  for (const name of podContext) if (context[name] !== undefined) refuse(`${at}.${name}`);
  if ((context.sysctls ?? []).length > 0) refuse(`${at}.sysctls`);
  if (podSpec.shareProcessNamespace !== undefined) refuse(`${path}.shareProcessNamespace`);
  for (const name of podContextAfterSysctls) if (context[name] !== undefined) refuse(`${at}.${name}`);
  for (const [field, container] of containersOf(podSpec, path)) {
    const own = container.securityContext ?? {};
    for (const name of containerContext)
      if (own[name] !== undefined) refuse(`${field}.securityContext.${name}`);
  }
  return errors;
}

const stopSignalsOfWindows = ['SIGTERM', 'SIGKILL'];
export function validateStopSignals(podSpec: Decoded<PodSpec>, path: string): Errors {
  const os = podSpec.os?.name ?? '';
  return containersOf(podSpec, path).flatMap(([field, container]) => {
    const signal = container.lifecycle?.stopSignal ?? '';
    if (signal === '') return [];
    const at = `${field}.lifecycle.stopSignal`;
    if (os === '') return [forbidden(at, 'may not be set for containers with empty `spec.os.name`')];
    return os === 'windows' && !stopSignalsOfWindows.includes(signal)
      ? [notSupported(at, signal, stopSignalsOfWindows)]
      : [];
  });
}

const maxCredentialSpecBytes = 64 * 1024;
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsDomain = /^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*$/;
const userCharacters = /["/\\:;|=,+*?<>@[\]]/;

/** `securityContext.windowsOptions` of a pod or a container. */
export function validateWindowsOptions(
  field: string,
  options: Decoded<WindowsSecurityContextOptions> | undefined,
): Errors {
  if (options === undefined) return [];
  const errors: Errors = [];
  if (options.gmsaCredentialSpecName !== undefined)
    errors.push(...each(`${field}.gmsaCredentialSpecName`, options.gmsaCredentialSpecName, dnsSubdomain));
  const spec = options.gmsaCredentialSpec;
  if (typeof spec === 'string') {
    if (spec === '')
      errors.push(
        invalid(`${field}.gmsaCredentialSpec`, spec, 'gmsaCredentialSpec cannot be an empty string'),
      );
    else if (new TextEncoder().encode(spec).length > maxCredentialSpecBytes)
      errors.push(invalid(`${field}.gmsaCredentialSpec`, spec, 'size must be under 64 KiB'));
  }
  if (typeof options.runAsUserName === 'string')
    errors.push(...userNameErrors(`${field}.runAsUserName`, options.runAsUserName));
  return errors;
}

function userNameErrors(field: string, name: string): Errors {
  const bad = (why: string): Errors => [invalid(field, name, why)];
  if (name === '') return bad('runAsUserName cannot be an empty string');
  if (/[\u0000-\u001f\u007f]/.test(name)) return bad('runAsUserName cannot contain control characters');
  const parts = name.split('\\');
  if (parts.length > 2) return bad('runAsUserName cannot contain more than one backslash');
  const errors: Errors = [];
  const user = parts.at(-1)!;
  if (parts.length === 2) {
    const domain = parts[0]!;
    if (domain.length >= 256)
      errors.push(...bad(`runAsUserName's Domain length must be under 256 characters`));
    if (!netBios.test(domain) && !(domain.length < 256 && dnsDomain.test(domain)))
      errors.push(...bad("runAsUserName's Domain doesn't match the NetBios nor the DNS format"));
  }
  if (user === '') errors.push(...bad("runAsUserName's User cannot be empty"));
  else if (user.length > 104)
    errors.push(...bad("runAsUserName's User length must not be longer than 104 characters"));
  if (user !== '' && /^[. ]+$/.test(user))
    errors.push(...bad("runAsUserName's User cannot contain only periods or spaces"));
  if (userCharacters.test(user))
    errors.push(...bad('runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]'));
  return errors;
}

/** HostProcess: all containers or none, the pod's word and theirs alike, and the host's network. */
export function validateHostProcess(podSpec: Decoded<PodSpec>, path: string): Errors {
  const errors: Errors = [];
  const of = (holder: WithContext): boolean | undefined => {
    const value = holder.securityContext?.windowsOptions?.hostProcess;
    return typeof value === 'boolean' ? value : undefined;
  };
  const whole = of(podSpec);
  let yes = 0;
  let no = 0;
  for (const [field, container] of containersOf(podSpec, path)) {
    const own = of(container);
    if (whole !== undefined && own !== undefined && whole !== own)
      errors.push(
        invalid(
          `${field}.securityContext.windowsOptions.hostProcess`,
          own,
          `pod hostProcess value must be identical if both are specified, was ${whole}`,
        ),
      );
    if (own ?? whole ?? false) yes++;
    else no++;
  }
  if (yes === 0) return errors;
  if (no > 0)
    errors.push(
      invalid(
        path,
        '',
        'If pod contains any hostProcess containers then all containers must be HostProcess containers',
      ),
    );
  if (podSpec.hostNetwork !== true)
    errors.push(
      invalid(
        `${path}.hostNetwork`,
        false,
        'hostNetwork must be true if pod contains any hostProcess containers',
      ),
    );
  return errors;
}
