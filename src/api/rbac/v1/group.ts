// The kinds of rbac.authorization.k8s.io/v1.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { obj, objs, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { pathSegment } from '../../../apimachinery/validation/names.ts';
import { ageCell, createdCell, nameCell } from '../../meta/row-cells.ts';
import { roleRefStays, validateBinding, validateRole } from './validate-rbac.ts';

const rbacGroup = 'rbac.authorization.k8s.io';

const role = (namespaced: boolean): KindBehaviour => ({
  nameRule: pathSegment,
  row: (o) => [nameCell(o), createdCell(o)],
  strategy: { validate: validateRole(namespaced), allowCreateOnUpdate: true },
});

const subjects = (binding: JsonObject, kind: string): string =>
  objs(binding['subjects'])
    .filter((s) => s['kind'] === kind)
    .map((s) => (kind === 'ServiceAccount' ? `${str(s['namespace'])}/${str(s['name'])}` : str(s['name'])))
    .join(', ');

function bindingDefaults(binding: JsonObject): void {
  const ref = obj(binding['roleRef']);
  if (str(ref['apiGroup']) === '' && binding['roleRef'] !== undefined) ref['apiGroup'] = rbacGroup;
  for (const subject of objs(binding['subjects']))
    if (str(subject['apiGroup']) === '' && (subject['kind'] === 'User' || subject['kind'] === 'Group'))
      subject['apiGroup'] = rbacGroup;
}

const roleBinding = (namespaced: boolean): KindBehaviour => ({
  nameRule: pathSegment,
  row: (o, now) => [
    nameCell(o),
    `${str(obj(o['roleRef'])['kind'])}/${str(obj(o['roleRef'])['name'])}`,
    ageCell(o, now),
    subjects(o, 'User'),
    subjects(o, 'Group'),
    subjects(o, 'ServiceAccount'),
  ],
  strategy: {
    applyDefaults: bindingDefaults,
    validate: validateBinding(namespaced),
    validateUpdate: roleRefStays,
    allowCreateOnUpdate: true,
  },
});

export const rbacV1: GroupBehaviours = {
  clusterrolebindings: roleBinding(false),
  clusterroles: role(false),
  rolebindings: roleBinding(true),
  roles: role(true),
};
