// WebhookAdmissionConfiguration: where it stands as whom admission webhooks are asked.
import { type FieldError, forbidden, invalid } from '../../apimachinery/field-error.ts';
import { readAdmissionConfig } from './admission-configuration.ts';

export interface WebhookAdmissionConfiguration {
  /** '' when webhooks are asked as nobody. */
  readonly kubeConfigFile: string;
  /** Of webhooks in files, whose feature upstream leaves off. */
  readonly staticManifestsDir: string;
}

function* faults(configuration: WebhookAdmissionConfiguration): Generator<FieldError> {
  const { kubeConfigFile, staticManifestsDir } = configuration;
  if (kubeConfigFile !== '' && !kubeConfigFile.startsWith('/'))
    yield invalid('kubeConfigFile', kubeConfigFile, 'must be an absolute file path');
  else if (staticManifestsDir !== '')
    yield forbidden(
      'staticManifestsDir',
      'staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled',
    );
}

/** Throws what is wrong with it. */
export function readWebhookAdmissionConfiguration(config: unknown): WebhookAdmissionConfiguration {
  return readAdmissionConfig<WebhookAdmissionConfiguration>(config, {
    apiVersions: ['apiserver.config.k8s.io/v1'],
    kind: 'WebhookAdmissionConfiguration',
    shape: { kubeConfigFile: 'string', staticManifestsDir: 'string' },
    make: (read) => ({
      kubeConfigFile: String(read['kubeConfigFile'] ?? ''),
      staticManifestsDir: String(read['staticManifestsDir'] ?? ''),
    }),
    faults: (configuration) => [...faults(configuration)],
  });
}
