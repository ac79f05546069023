// Numbers that the types data lacks: Go structs embedded in others are inlined in JSON and messages of their own in protobuf.

export interface EmbeddedMessage {
  /** Number of the embedded message in its holder; 0 for fields of the holder itself. */
  readonly number: number;
  /** JSON name → number inside; a nested embedding stands under its number. */
  readonly fields: Readonly<Record<string, number>>;
  readonly nested?: EmbeddedMessage;
}

const inOrder = (names: string): Record<string, number> =>
  Object.fromEntries(names.split(' ').map((name, i) => [name, i + 1]));

const volumeSource = inOrder(
  'hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO projected storageos csi ephemeral image',
);
const persistentVolumeSource = inOrder(
  'gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd iscsi cinder cephfs fc flocker flexVolume azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO local storageos csi',
);
const ephemeralContainer = inOrder(
  'name image command args workingDir ports env resources volumeMounts livenessProbe readinessProbe lifecycle terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom terminationMessagePolicy volumeDevices startupProbe resizePolicy restartPolicy restartPolicyRules',
);
const name: EmbeddedMessage = { number: 1, fields: { name: 1 } };
const rule: EmbeddedMessage = { number: 2, fields: inOrder('apiGroups apiVersions resources scope') };
const opaque = (number: number): EmbeddedMessage => ({ number, fields: { opaque: 1 } });
const own = (fields: Record<string, number>): EmbeddedMessage => ({ number: 0, fields });

/** By the last two parts of the full type name. */
export const embeddedMessages: Readonly<Record<string, EmbeddedMessage>> = {
  'admissionregistration.v1.MutatingWebhookConfiguration': own({ webhooks: 2 }),
  'admissionregistration.v1.NamedRuleWithOperations': { number: 2, fields: { operations: 1 }, nested: rule },
  'admissionregistration.v1.RuleWithOperations': rule,
  'admissionregistration.v1.ValidatingWebhookConfiguration': own({ webhooks: 2 }),
  'admissionregistration.v1.Validation': own({ expression: 1 }),
  'admissionregistration.v1.Variable': own({ name: 1, expression: 2 }),
  'apiextensions.v1.JSONSchemaProps': own({
    $schema: 2,
    $ref: 3,
    'x-kubernetes-preserve-unknown-fields': 38,
    'x-kubernetes-embedded-resource': 39,
    'x-kubernetes-int-or-string': 40,
    'x-kubernetes-list-map-keys': 41,
    'x-kubernetes-list-type': 42,
    'x-kubernetes-map-type': 43,
    'x-kubernetes-validations': 44,
  }),
  'apiregistration.v1.APIService': own(inOrder('metadata spec status')),
  'apiregistration.v1.APIServiceCondition': own(inOrder('type status lastTransitionTime reason message')),
  'apiregistration.v1.APIServiceList': own(inOrder('metadata items')),
  'apiregistration.v1.APIServiceSpec': own({
    service: 1,
    group: 2,
    version: 3,
    insecureSkipTLSVerify: 4,
    caBundle: 5,
    groupPriorityMinimum: 7,
    versionPriority: 8,
  }),
  'apiregistration.v1.APIServiceStatus': own({ conditions: 1 }),
  'apiregistration.v1.ServiceReference': own(inOrder('namespace name port')),
  'authentication.v1.BoundObjectReference': own({ uid: 4 }),
  'core.v1.ConfigMapEnvSource': name,
  'core.v1.ConfigMapKeySelector': name,
  'core.v1.ConfigMapProjection': name,
  'core.v1.ConfigMapVolumeSource': name,
  'core.v1.EphemeralContainer': { number: 1, fields: ephemeralContainer },
  'core.v1.PersistentVolumeSpec': { number: 2, fields: persistentVolumeSource },
  'core.v1.Probe': { number: 1, fields: inOrder('exec httpGet tcpSocket grpc') },
  'core.v1.SecretEnvSource': name,
  'core.v1.SecretKeySelector': name,
  'core.v1.SecretProjection': name,
  'core.v1.Volume': { number: 2, fields: volumeSource },
  // A list with a name of its own is a message that holds it.
  'meta.v1.APIResource': { number: 4, fields: { verbs: 1 } },
  'networking.v1.IngressClassParametersReference': own({ apiGroup: 1 }),
  'networking.v1.IngressRule': { number: 2, fields: { http: 1 } },
  'resource.v1.DeviceAllocationConfiguration': opaque(3),
  'resource.v1.DeviceClaimConfiguration': opaque(2),
  'resource.v1.DeviceClassConfiguration': opaque(1),
};
