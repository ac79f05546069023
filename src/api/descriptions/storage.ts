// What the types of storage are for: classes, CSI drivers, and where volumes are attached.
export const storage: string = `
StorageClass: A kind of storage from which volumes are made for claims. The annotation storageclass.kubernetes.io/is-default-class makes it the default. Mostly it cannot be changed.
  allowVolumeExpansion: Whether claims may be made larger. Default false. It may be changed.
  allowedTopologies: Where volumes may be made. Unset: anywhere.
  mountOptions: Options of the mount for its volumes. They are not checked: a wrong one makes the mount fail.
  parameters: Settings for what makes the volumes, at most 512 keys and 256 KiB.
  provisioner: What makes the volumes: the name of a CSI driver or the like.
  reclaimPolicy: What happens to a volume when its claim is deleted: Delete removes it (the default), Retain keeps it.
  volumeBindingMode: When a volume is found or made: Immediate as soon as it is claimed (the default), WaitForFirstConsumer when a pod uses it, and then where the pod can run.

VolumeAttributesClass: Settings of volumes that can be changed while they are used. Cannot be changed itself: make another.
  driverName: Name of the CSI driver.
  parameters: Settings that the driver knows, at most 512 keys and 256 KiB. At least one.

CSIDriver: What a CSI driver can do and wants. It has the driver's name.
  spec: What it can do and wants.

CSIDriverSpec: What a CSI driver can do and wants.
  attachRequired: Whether volumes must be attached to nodes before they are mounted. Default true. Cannot be changed.
  fsGroupPolicy: Whether files get the fsGroup of pods: ReadWriteOnceWithFSType where there is a file system and one node (the default), File always, None never. Without effect on Windows.
  nodeAllocatableUpdatePeriodSeconds: Seconds after which nodes ask the driver again how many volumes they can have, at least 10. Unset: only at its start.
  podInfoOnMount: Whether the driver is told of the pod when it mounts. Default false.
  preventPodSchedulingIfMissing: True keeps pods with its volumes from nodes that do not have the driver. Default false.
  requiresRepublish: Whether the driver is asked again and again to mount, so that it can renew what is in the volume. Default false.
  seLinuxMount: Whether its volumes can be mounted with an SELinux label. Default false.
  serviceAccountTokenInSecrets: True gives the tokens to the driver among its secrets, and no longer among the volume's attributes. Only with tokenRequests. Default false.
  storageCapacity: Whether the scheduler asks CSIStorageCapacity objects where there is room. Default false.
  tokenRequests: Tokens of the pod's service account that the driver is given. Each audience once.
  volumeLifecycleModes: Persistent for claims (the default), Ephemeral for volumes that pods write themselves. Cannot be changed.

TokenRequest: A token that a driver is given.
  audience: For whom it is. Empty: the API server.
  expirationSeconds: Seconds for which it is good, at least 600. Default 3600.

CSINode: The CSI drivers of a node, kept by its kubelet. It has the node's name.
  spec: The drivers.

CSINodeSpec: The CSI drivers of a node.
  drivers: The drivers. Empty: none was registered, or all have gone.

CSINodeDriver: A CSI driver on a node.
  allocatable: How many of its volumes the node can have.
  name: Name of the driver.
  nodeID: What the driver calls the node.
  topologyKeys: Labels of the node that say where it is to the driver.

VolumeNodeResources: How many volumes a node can have.
  count: How many. Unset: no limit.

CSIStorageCapacity: How much room there is for volumes of a class, in some part of the cluster. Kept by CSI drivers for the scheduler.
  capacity: How much is left. Unset: not known.
  maximumVolumeSize: The largest volume that can be made. Unset: not known.
  nodeTopology: The nodes that can use it. Empty: all. Unset: none. Cannot be changed.
  storageClassName: The class. Cannot be changed.

VolumeAttachment: Asks that a volume be attached to a node, or says that it is.
  spec: Which volume, and which node. Cannot be changed.
  status: Whether it is attached.

VolumeAttachmentSpec: Which volume is to be attached to which node.
  attacher: Name of the CSI driver that does it.
  nodeName: The node.
  source: The volume.

VolumeAttachmentSource: The volume that is attached: exactly one of the two.
  inlineVolumeSpec: What the volume is, for volumes that a pod names itself.
  persistentVolumeName: Name of the PersistentVolume.

VolumeAttachmentStatus: Whether a volume is attached.
  attachError: Why it could not be attached last.
  attached: Whether it is.
  attachmentMetadata: What the driver said when it was attached, for when it is mounted.
  detachError: Why it could not be detached last.

VolumeError: Why something failed.
  errorCode: Code of gRPC, where there was one.
  message: What was wrong. It may be logged: no secrets.
  time: When it failed.
`;
