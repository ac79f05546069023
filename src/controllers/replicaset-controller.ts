// Keeps the number of pods of a ReplicaSet at what it asks for.
import { replicasets } from '../api/generated/resources.ts';
import type { Controller } from '../controller-runtime/define-controller.ts';
import { replicaController } from './replicaset/replica-control.ts';

export const replicaSetController: Controller = replicaController({
  name: 'replicaset-controller',
  queue: 'replicaset',
  serviceAccount: 'replicaset-controller',
  resource: replicasets,
  selectorOf: (rs) => rs.spec?.selector,
  countsTerminating: true,
});
