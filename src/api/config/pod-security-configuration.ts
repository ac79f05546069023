// pod-security.admission.config.k8s.io PodSecurityConfiguration: the levels of namespaces that say nothing, and who is exempt.
import { duplicate, type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { dnsLabel, dnsSubdomain } from '../../apimachinery/validation/names.ts';
import { readAdmissionConfig } from './admission-configuration.ts';

const modes = ['enforce', 'warn', 'audit'] as const;
type Mode = (typeof modes)[number];

export interface PodSecurityConfiguration {
  /** `baseline` and `v1.30`, by mode. */
  readonly defaults: Readonly<Record<Mode | `${Mode}-version`, string>>;
  readonly exemptions: {
    readonly usernames: readonly string[];
    readonly namespaces: readonly string[];
    readonly runtimeClasses: readonly string[];
  };
}

const levels = ['privileged', 'baseline', 'restricted'];
const strings = ['string'] as const;
const versions = ['v1', 'v1beta1', 'v1alpha1'];

function* nameFaults(
  names: readonly string[],
  at: string,
  errorsOf: (name: string) => readonly string[],
): Generator<FieldError> {
  const seen = new Set<string>();
  for (const [i, name] of names.entries()) {
    const errors = errorsOf(name);
    if (errors.length > 0) yield invalid(`${at}[${i}]`, name, errors.join(', '));
    else if (seen.has(name)) yield duplicate(`${at}[${i}]`, name);
    else seen.add(name);
  }
}

function* faults({ defaults, exemptions }: PodSecurityConfiguration): Generator<FieldError> {
  for (const mode of modes) {
    if (!levels.includes(defaults[mode]))
      yield invalid(`defaults.${mode}`, defaults[mode], `must be one of ${levels.join(', ')}`);
    const version = defaults[`${mode}-version`];
    if (version !== 'latest' && !/^v1\.([0-9]|[1-9][0-9]*)$/.test(version))
      yield invalid(`defaults.${mode}-version`, version, 'must be "latest" or "v1.x"');
  }
  yield* nameFaults(exemptions.namespaces, 'exemptions.namespaces', dnsLabel);
  yield* nameFaults(exemptions.runtimeClasses, 'exemptions.runtimeClasses', dnsSubdomain);
  yield* nameFaults(exemptions.usernames, 'exemptions.usernames', (name) =>
    name === '' ? ['username must not be empty'] : [],
  );
}

/** Throws what is wrong with it. */
export function readPodSecurityConfiguration(config: unknown): PodSecurityConfiguration {
  return readAdmissionConfig<PodSecurityConfiguration>(config, {
    apiVersions: versions.map((version) => `pod-security.admission.config.k8s.io/${version}`),
    kind: 'PodSecurityConfiguration',
    shape: {
      defaults: Object.fromEntries(
        modes.flatMap((mode) => [mode, `${mode}-version`].map((f) => [f, 'string' as const])),
      ),
      exemptions: { usernames: strings, namespaces: strings, runtimeClasses: strings },
    },
    make: (read) => {
      const said = (read['defaults'] ?? {}) as Record<string, string>;
      const exempt = (read['exemptions'] ?? {}) as Record<string, string[]>;
      const levelAndVersion = modes.flatMap((mode) => [
        [mode, said[mode] || 'privileged'],
        [`${mode}-version`, said[`${mode}-version`] || 'latest'],
      ]);
      return {
        defaults: Object.fromEntries(levelAndVersion) as PodSecurityConfiguration['defaults'],
        exemptions: {
          usernames: exempt['usernames'] ?? [],
          namespaces: exempt['namespaces'] ?? [],
          runtimeClasses: exempt['runtimeClasses'] ?? [],
        },
      };
    },
    faults: (configuration) => [...faults(configuration)],
  });
}
