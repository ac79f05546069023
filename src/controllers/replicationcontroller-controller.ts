// Keeps the number of pods of a ReplicationController at what it asks for.
import { replicationcontrollers } from '../api/generated/resources.ts';
import type { Controller } from '../controller-runtime/define-controller.ts';
import { replicaController } from './replicaset/replica-control.ts';

export const replicationControllerController: Controller = replicaController({
  name: 'replicationcontroller-controller',
  queue: 'replicationmanager',
  serviceAccount: 'replication-controller',
  resource: replicationcontrollers,
  // An empty selector of this kind selects nothing.
  selectorOf: ({ spec }) =>
    Object.keys(spec?.selector ?? {}).length === 0 ? undefined : { matchLabels: spec?.selector },
  countsTerminating: false,
});
