// The kind CustomResourceDefinition.
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { CustomResourceDefinition } from '../../generated/types/apiextensions-v1.ts';
import { createdCell, nameCell } from '../../meta/row-cells.ts';
import { formatWarnings } from './format-warnings.ts';
import {
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionStatus,
  validateCustomResourceDefinitionUpdate,
} from './validate-crd.ts';

const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';
const isTerminating = (o: Decoded<CustomResourceDefinition>): boolean =>
  (o.status?.conditions ?? []).some((c) => c.type === 'Terminating' && c.status === 'True');

export const apiextensionsV1: GroupBehaviours<{ customresourcedefinitions: CustomResourceDefinition }> = {
  customresourcedefinitions: {
    hasGeneration: true,
    ownUpdateRules: true,
    row: (o) => [nameCell(o), createdCell(o)],
    strategy: {
      allowUnconditionalUpdate: false,
      validate: validateCustomResourceDefinition,
      warnings: formatWarnings,
      validateUpdate: (o, old, { subresource }) =>
        subresource === 'status'
          ? validateCustomResourceDefinitionStatus(o)
          : validateCustomResourceDefinitionUpdate(o, old),
      prepareForUpdate(o) {
        // Objects may be written in it from now on.
        const stored = (o.spec?.versions ?? []).find((v) => v.storage === true)?.name;
        const status = ensured(o, 'status');
        const before = status.storedVersions ?? [];
        if (stored && !before.includes(stored)) status.storedVersions = [...before, stored];
      },
      applyDefaults(o) {
        const s = ensured(o, 'spec');
        const names = ensured(s, 'names');
        if (!names.singular) names.singular = (names.kind ?? '').toLowerCase();
        if (!names.listKind && names.kind) names.listKind = `${names.kind ?? ''}List`;
        const conversion = ensured(s, 'conversion');
        if (!conversion.strategy) conversion.strategy = 'None';
        if (s.preserveUnknownFields === false) delete s.preserveUnknownFields;
        const service = conversion.webhook?.clientConfig?.service ?? {};
        if (Object.keys(service).length > 0) service.port ??= 443;
      },
      // The objects go first; who serves them takes the finalizer away.
      holdsDeletion: (o) => !isTerminating(o),
      countsDeletion: false,
      prepareForDelete(o) {
        const metadata = ensured(o, 'metadata');
        const finalizers = metadata.finalizers ?? [];
        if (isTerminating(o)) return;
        if (!finalizers.includes(cleanupFinalizer)) metadata.finalizers = [...finalizers, cleanupFinalizer];
        const status = ensured(o, 'status');
        status.conditions = [
          ...(status.conditions ?? []).filter((c) => c.type !== 'Terminating'),
          {
            type: 'Terminating',
            status: 'True',
            lastTransitionTime: metadata.deletionTimestamp ?? '',
            reason: 'InstanceDeletionPending',
            message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
          },
        ];
      },
      prepareForCreate(o) {
        // What the server itself answers for until the naming controller has looked.
        const stored = (o.spec?.versions ?? []).find((v) => v.storage === true);
        o.status = {
          conditions: [],
          acceptedNames: { plural: '', kind: '' },
          storedVersions: stored ? [stored.name ?? ''] : [],
        };
      },
    },
  },
};
