// Kinds whose DELETE answers with the object that went, as upstream's stores with ReturnDeletedObject; others answer a Status.

const resources = {
  '': [
    'persistentvolumeclaims',
    'persistentvolumes',
    'pods',
    'podtemplates',
    'resourcequotas',
    'serviceaccounts',
    'services',
  ],
  'storage.k8s.io': [
    'csidrivers',
    'csinodes',
    'csistoragecapacities',
    'storageclasses',
    'volumeattachments',
    'volumeattributesclasses',
  ],
  'resource.k8s.io': ['deviceclasses', 'resourceclaims', 'resourceclaimtemplates', 'resourceslices'],
} as const;

export function isReturnedOnDelete(group: string, resource: string): boolean {
  const known: readonly string[] = Object.hasOwn(resources, group)
    ? resources[group as keyof typeof resources]
    : [];
  return known.includes(resource);
}
