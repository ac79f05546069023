// Every namespace has the config map `kube-root-ca.crt`, by which pods know the API server.
import { configmaps, namespaces } from '../api/generated/resources.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';

const mapName = 'kube-root-ca.crt';
const descriptionAnnotation = 'kubernetes.io/description';
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

export interface ChangingText {
  now(): string;
  /** The answer ends it. Absent: it never changes. */
  readonly onChange?: (listener: () => void) => () => void;
}

/** `rootCa` is the PEM of the certificates that vouch for the server. */
export const rootCaCertificatePublisherController = (rootCa: ChangingText): Controller =>
  defineController({
    name: 'root-ca-certificate-publisher-controller',
    queue: 'root_ca_cert_publisher',
    serviceAccount: 'root-ca-cert-publisher',
    for: namespaces,
    access: [may(['create', 'update'], configmaps)],
    watches: [
      watching(configmaps, ({ metadata }) => (metadata.name === mapName ? [metadata.namespace ?? ''] : [])),
    ],
    start: ({ read, enqueue }) =>
      rootCa.onChange?.(() => {
        for (const { metadata } of read(namespaces).list()) enqueue(metadata.name);
      }),
    async reconcile({ name }, context) {
      const namespace = context.read(namespaces).get(name);
      if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined;
      const data = { 'ca.crt': rootCa.now() };
      const current = context.read(configmaps).get(mapName, name);
      if (current === undefined) {
        const annotations = { [descriptionAnnotation]: description };
        await context.write
          .create(configmaps, { metadata: { name: mapName, namespace: name, annotations }, data })
          .catch((error: unknown) => {
            if (!isStatusError(error, 'AlreadyExists') && !isStatusError(error, 'Forbidden')) throw error;
          });
        return undefined;
      }
      if (
        semanticEqual(current.data, data) &&
        current.metadata.annotations?.[descriptionAnnotation] === description
      )
        return undefined;
      const annotations = { ...current.metadata.annotations, [descriptionAnnotation]: description };
      await context.write.update(configmaps, {
        ...current,
        metadata: { ...current.metadata, annotations },
        data,
      });
      return undefined;
    },
  });
