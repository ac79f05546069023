// Kinds of the core group that need only a row.
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type {
  Binding,
  ComponentStatus,
  ConfigMap,
  PodTemplate,
  ServiceAccount,
} from '../../generated/types/core-v1.ts';
import { ageCell, containerCells, labelsCell, nameCell } from '../../meta/row-cells.ts';
import { podTemplateDefaults } from './pod-defaults.ts';
import { podTemplateWarnings } from './pod-warnings.ts';
import { validateConfigMap, validateConfigMapUpdate } from './validate-config.ts';
import { validateTemplate } from './validate-workload.ts';

export const binding: KindBehaviour<Binding> = { virtual: true };

export const componentStatus: KindBehaviour<ComponentStatus> = {
  deprecation: 'v1 ComponentStatus is deprecated in v1.19+',
  row: (o) => {
    const healthy = (o.conditions ?? []).find((c) => c.type === 'Healthy');
    const words: Readonly<Record<string, string>> = { True: 'Healthy', False: 'Unhealthy' };
    return [
      nameCell(o),
      words[healthy?.status ?? ''] ?? 'Unknown',
      healthy?.message ?? '',
      healthy?.error ?? '',
    ];
  },
};

export const configMap: KindBehaviour<ConfigMap> = {
  strategy: { validate: validateConfigMap, validateUpdate: validateConfigMapUpdate },
  row: (o, now) => [
    nameCell(o),
    String(Object.keys(o.data ?? {}).length + Object.keys(o.binaryData ?? {}).length),
    ageCell(o, now),
  ],
};

export const podTemplate: KindBehaviour<PodTemplate> = {
  hasGeneration: true,
  row: (o) => [nameCell(o), ...containerCells(o.template), labelsCell(o.template?.metadata?.labels)],
  strategy: {
    applyDefaults: (o) => podTemplateDefaults(o.template),
    validate: (o) => validateTemplate(o.template ?? {}, 'template'),
    warnings: (o) => podTemplateWarnings(o.template, 'template'),
  },
};

const enforcing = 'kubernetes.io/enforce-mountable-secrets';

export const serviceAccount: KindBehaviour<ServiceAccount> = {
  strategy: {
    warnings: ({ metadata }) =>
      metadata?.annotations?.[enforcing] === undefined
        ? []
        : [
            `metadata.annotations[${enforcing}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
          ],
  },
  row: (o, now) => [nameCell(o), ageCell(o, now)],
};
