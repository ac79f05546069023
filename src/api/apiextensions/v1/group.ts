// The kind CustomResourceDefinition.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { ensure, obj, objs, setDefault, str, strs } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { createdCell, nameCell } from '../../meta/row-cells.ts';
import { customResourceDefinitionStays, validateCustomResourceDefinition } from './validate-crd.ts';

const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';
const isTerminating = (o: JsonObject): boolean =>
  objs(obj(o['status'])['conditions']).some((c) => c['type'] === 'Terminating' && c['status'] === 'True');

export const apiextensionsV1: GroupBehaviours = {
  customresourcedefinitions: {
    hasGeneration: true,
    row: (o) => [nameCell(o), createdCell(o)],
    strategy: {
      validate: validateCustomResourceDefinition,
      validateUpdate: customResourceDefinitionStays,
      applyDefaults(o) {
        const s = ensure(o, 'spec');
        const names = ensure(s, 'names');
        if (str(names['singular']) === '') names['singular'] = str(names['kind']).toLowerCase();
        if (str(names['listKind']) === '' && str(names['kind']) !== '')
          names['listKind'] = `${str(names['kind'])}List`;
        const conversion = ensure(s, 'conversion');
        if (str(conversion['strategy']) === '') conversion['strategy'] = 'None';
        if (s['preserveUnknownFields'] === false) delete s['preserveUnknownFields'];
        const service = obj(obj(obj(conversion['webhook'])['clientConfig'])['service']);
        if (Object.keys(service).length > 0) setDefault(service, 'port', 443);
      },
      // The objects go first; who serves them takes the finalizer away.
      holdsDeletion: (o) => !isTerminating(o),
      prepareForDelete(o) {
        const metadata = ensure(o, 'metadata');
        const finalizers = strs(metadata['finalizers']);
        if (isTerminating(o)) return;
        if (!finalizers.includes(cleanupFinalizer))
          metadata['finalizers'] = [...finalizers, cleanupFinalizer];
        const status = ensure(o, 'status');
        status['conditions'] = [
          ...objs(status['conditions']).filter((c) => c['type'] !== 'Terminating'),
          {
            type: 'Terminating',
            status: 'True',
            lastTransitionTime: str(metadata['deletionTimestamp']),
            reason: 'InstanceDeletionPending',
            message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
          },
        ];
      },
      prepareForCreate(o) {
        // What the server itself answers for until the naming controller has looked.
        const stored = objs(obj(o['spec'])['versions']).find((v) => v['storage'] === true);
        o['status'] = {
          conditions: [],
          acceptedNames: { plural: '', kind: '' },
          storedVersions: stored ? [str(stored['name'])] : [],
        };
      },
    },
  },
};
