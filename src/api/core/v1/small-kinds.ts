// Kinds of the core group that need only a row.
import { obj, objs, str } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, containerCells, labelsCell, nameCell } from '../../meta/row-cells.ts';
import { podTemplateDefaults } from './pod-defaults.ts';
import { validateConfigMap, validateConfigMapUpdate } from './validate-config.ts';
import { validateTemplate } from './validate-workload.ts';

export const binding: KindBehaviour = { virtual: true };

export const componentStatus: KindBehaviour = {
  row: (o) => {
    const healthy = objs(o['conditions']).find((c) => c['type'] === 'Healthy');
    const words: Readonly<Record<string, string>> = { True: 'Healthy', False: 'Unhealthy' };
    return [
      nameCell(o),
      words[str(healthy?.['status'])] ?? 'Unknown',
      str(healthy?.['message']),
      str(healthy?.['error']),
    ];
  },
};

export const configMap: KindBehaviour = {
  strategy: { validate: validateConfigMap, validateUpdate: validateConfigMapUpdate },
  row: (o, now) => [
    nameCell(o),
    String(Object.keys(obj(o['data'])).length + Object.keys(obj(o['binaryData'])).length),
    ageCell(o, now),
  ],
};

export const podTemplate: KindBehaviour = {
  hasGeneration: true,
  row: (o) => [
    nameCell(o),
    ...containerCells(o['template']),
    labelsCell(obj(obj(o['template'])['metadata'])['labels']),
  ],
  strategy: {
    applyDefaults: podTemplateDefaults,
    validate: (o) => validateTemplate(obj(o['template']), 'template'),
  },
};

export const serviceAccount: KindBehaviour = {
  row: (o, now) => [nameCell(o), ageCell(o, now)],
};
