// Files and flags about admission made into a choice of plugins, each with its configuration. Read once, when the server starts.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { AdmissionChoice, CredentialsOf, ReviewerOf } from '../../plugins/admission/registry.ts';

/** As commander reads them. */
export interface AdmissionFlags {
  readonly defaultNotReadyTolerationSeconds?: number;
  readonly defaultUnreachableTolerationSeconds?: number;
  readonly enableAdmissionPlugins?: readonly string[];
  readonly disableAdmissionPlugins?: readonly string[];
  readonly admissionControlConfigFile?: string;
}

/** Takes what ends a connection to somebody else, once nobody is asked any more. */
type Defer = (end: () => void) => void;

/** As upstream waits for its webhooks. */
const timeoutMs = 30_000;

const reviewerBy =
  (clock: Clock, defer: Defer): ReviewerOf =>
  async (kubeConfigFile) => {
    const { loadKubeconfig } = await import('../../client/kubeconfig.ts');
    const { createRemoteReviewer } = await import('../../plugins/webhook/remote-reviewer.ts');
    const { HttpsClient } = await import('../../wire/https-client.ts');
    const { transport } = await loadKubeconfig(kubeConfigFile, readFile);
    const client = new HttpsClient({ maxAnswerBytes: 1 << 20, maxConnections: 16, maxAllConnections: 16 });
    defer(() => client.close());
    return createRemoteReviewer({ transport, client, clock, timeoutMs });
  };

const credentialsBy =
  (clock: Clock): CredentialsOf =>
  async (kubeConfigFile) => {
    const { loadWebhookCredentials } = await import('../../client/webhook-credentials.ts');
    return loadWebhookCredentials(kubeConfigFile, readFile, clock);
  };

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`unable to read ${what} from ${JSON.stringify(file)} [${(error as Error).message}]`);
  }
}

/** Each plugin's configuration: that of the first of its name, as upstream. */
async function configurationsOf(file: string): Promise<ReadonlyMap<string, unknown>> {
  const { readAdmissionConfiguration } = await import('../../api/config/admission-configuration.ts');
  const { parseYaml } = await import('../../base/yaml.ts');
  const told = new Map<string, unknown>();
  const text = readText(file, 'admission control configuration');
  try {
    for (const { name, path, configuration } of readAdmissionConfiguration(parseYaml(text))) {
      if (told.has(name)) continue;
      if (configuration !== undefined && configuration !== null) told.set(name, configuration);
      else if (path !== '')
        told.set(name, parseYaml(readText(resolve(dirname(file), path), 'admission plugin configuration')));
    }
  } catch (error) {
    throw new Error(`failed to read plugin config: ${(error as Error).message}`);
  }
  return told;
}

/** Throws for files that can't be followed. */
export async function configuredAdmission(
  flags: AdmissionFlags,
  clock: Clock,
  defer: Defer,
): Promise<AdmissionChoice> {
  const file = flags.admissionControlConfigFile;
  const told = file === undefined ? undefined : await configurationsOf(file);
  return {
    enabled: flags.enableAdmissionPlugins,
    disabled: flags.disableAdmissionPlugins,
    tolerationSeconds: {
      notReady: flags.defaultNotReadyTolerationSeconds,
      unreachable: flags.defaultUnreachableTolerationSeconds,
    },
    configOf: told && ((name) => told.get(name)),
    reviewerOf: reviewerBy(clock, defer),
    credentialsOf: credentialsBy(clock),
  };
}
