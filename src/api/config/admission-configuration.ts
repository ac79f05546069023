// apiserver.config.k8s.io/v1 AdmissionConfiguration: what each admission plugin is told, here or in a file of its own.
import { type ConfigShape, unknownFieldsOf } from '../../apimachinery/config-shape.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { type FieldError, fieldErrorText } from '../../apimachinery/field-error.ts';
import { isObject } from '../../apimachinery/json-access.ts';

interface AdmissionConfigKind<T> {
  readonly apiVersions: readonly string[];
  readonly kind: string;
  readonly shape: { readonly [field: string]: ConfigShape };
  make(read: JsonObject): T;
  faults(made: T): readonly FieldError[];
}

/** A plugin's configuration. Throws what is wrong with it. */
export function readAdmissionConfig<T>(config: unknown, wanted: AdmissionConfigKind<T>): T {
  if (!isObject(config as never)) throw new Error("Object 'Kind' is missing in the configuration");
  const object = config as JsonObject;
  const { apiVersion = '', kind = '' } = object;
  if (kind !== wanted.kind || !wanted.apiVersions.includes(String(apiVersion)))
    throw new Error(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  const unknown = unknownFieldsOf(object, { apiVersion: 'string', kind: 'string', ...wanted.shape });
  if (unknown.length > 0)
    throw new Error(
      `strict decoding error: ${unknown.map((field) => `unknown field ${JSON.stringify(field)}`).join(', ')}`,
    );
  const made = wanted.make(object);
  const texts = wanted.faults(made).map(fieldErrorText);
  if (texts.length > 0) throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  return made;
}

export interface PluginConfiguration {
  readonly name: string;
  /** Of a file with the configuration, beside the one that names it. */
  readonly path: string;
  /** Goes before the file. */
  readonly configuration: unknown;
}

/** Those that had a configuration before there was this kind; their file may be given in its place. */
const legacy = { imagePolicy: 'ImagePolicyWebhook', podNodeSelectorPluginConfig: 'PodNodeSelector' } as const;

/** Throws what is wrong with it. */
export function readAdmissionConfiguration(value: unknown): PluginConfiguration[] {
  if (isObject(value as never) && (value as JsonObject)['kind'] === undefined) {
    const named = Object.entries(legacy).filter(([field]) => Object.hasOwn(value as object, field));
    // As upstream: the whole file is that of both.
    if (named.length > 0)
      return Object.values(legacy).map((name) => ({ name, path: '', configuration: value }));
  }
  return readAdmissionConfig(value, {
    apiVersions: ['apiserver.config.k8s.io/v1', 'apiserver.k8s.io/v1alpha1'],
    kind: 'AdmissionConfiguration',
    shape: { plugins: [{ name: 'string', path: 'string', configuration: 'object' }] },
    make: (read) =>
      ((read['plugins'] ?? []) as unknown as Partial<PluginConfiguration>[]).map(
        ({ name = '', path = '', configuration }) => ({ name, path, configuration }),
      ),
    faults: () => [],
  });
}
