// ResourceQuotaConfiguration: what nobody may use without a quota that covers it.
import { readAdmissionConfig } from './admission-configuration.ts';

export interface LimitedResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** Parts of names of what is counted. */
  readonly matchContains: readonly string[];
  readonly matchScopes: readonly {
    readonly scopeName: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Throws what is wrong with it. */
export function readLimitedResources(config: unknown): LimitedResource[] {
  if (config === undefined || config === null) return [];
  return readAdmissionConfig<LimitedResource[]>(config, {
    apiVersions: [
      'apiserver.config.k8s.io/v1',
      'resourcequota.admission.k8s.io/v1beta1',
      'resourcequota.admission.k8s.io/v1alpha1',
    ],
    // The older groups call it only that.
    kind:
      (config as { kind?: unknown }).kind === 'Configuration'
        ? 'Configuration'
        : 'ResourceQuotaConfiguration',
    shape: {
      limitedResources: [
        {
          apiGroup: 'string',
          resource: 'string',
          matchContains: ['string'],
          matchScopes: [{ scopeName: 'string', operator: 'string', values: ['string'] }],
        },
      ],
    },
    make: (read) =>
      ((read['limitedResources'] ?? []) as unknown as Partial<LimitedResource>[]).map(
        ({ apiGroup = '', resource = '', matchContains = [], matchScopes = [] }) => ({
          apiGroup,
          resource,
          matchContains,
          matchScopes,
        }),
      ),
    faults: () => [],
  });
}
