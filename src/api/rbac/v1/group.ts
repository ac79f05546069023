// The kinds of rbac.authorization.k8s.io/v1.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { pathSegment } from '../../../apimachinery/validation/names.ts';
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '../../generated/types/rbac-v1.ts';
import { ageCell, createdCell, nameCell } from '../../meta/row-cells.ts';
import { roleRefStays, validateBinding, validateRole } from './validate-rbac.ts';

const rbacGroup = 'rbac.authorization.k8s.io';

const role = (namespaced: boolean): KindBehaviour<ClusterRole> => ({
  nameRule: pathSegment,
  row: (o) => [nameCell(o), createdCell(o)],
  strategy: { validate: validateRole(namespaced), allowCreateOnUpdate: true },
});

const subjects = (binding: Decoded<RoleBinding>, kind: string): string =>
  (binding.subjects ?? [])
    .filter((s) => s.kind === kind)
    .map((s) => (kind === 'ServiceAccount' ? `${s.namespace ?? ''}/${s.name ?? ''}` : (s.name ?? '')))
    .join(', ');

function bindingDefaults(binding: Decoded<RoleBinding>): void {
  const { roleRef } = binding;
  if (roleRef !== undefined && !roleRef.apiGroup) roleRef.apiGroup = rbacGroup;
  for (const subject of binding.subjects ?? [])
    if (!subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group'))
      subject.apiGroup = rbacGroup;
}

const roleBinding = (namespaced: boolean): KindBehaviour<RoleBinding> => ({
  nameRule: pathSegment,
  row: (o, now) => [
    nameCell(o),
    `${o.roleRef?.kind ?? ''}/${o.roleRef?.name ?? ''}`,
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

export const rbacV1: GroupBehaviours<{
  clusterrolebindings: ClusterRoleBinding;
  clusterroles: ClusterRole;
  rolebindings: RoleBinding;
  roles: Role;
}> = {
  clusterrolebindings: roleBinding(false),
  clusterroles: role(false),
  rolebindings: roleBinding(true),
  roles: role(true),
};
