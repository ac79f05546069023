// What the types of volumes, of claims and of what fills them are for.
export const coreVolumes: string = String.raw`
Volume: A folder, file or device that containers of a pod may mount. Exactly one field beside the name says what it is.
  awsElasticBlockStore: A disk of AWS, handled by the CSI driver ebs.csi.aws.com. New pods name a claim instead.
  azureDisk: A disk of Azure, handled by the CSI driver disk.csi.azure.com. New pods name a claim instead.
  azureFile: A file share of Azure, handled by the CSI driver file.csi.azure.com. New pods name a claim instead.
  cephfs: A CephFS folder. No node mounts it any more; use a CSI driver.
  cinder: A disk of OpenStack, handled by the CSI driver cinder.csi.openstack.org. New pods name a claim instead.
  configMap: Files made of a ConfigMap. They follow its changes, but for mounts with subPath.
  csi: A volume that a CSI driver makes for this pod and that goes with it.
  downwardAPI: Files that tell of the pod itself.
  emptyDir: A folder that is empty when the pod comes to a node and goes with it. It outlives restarts of containers.
  ephemeral: A claim that is made for the pod, with a name of pod-volume, and deleted with it.
  fc: A disk of a Fibre Channel network.
  flexVolume: A volume that a program on the node mounts. Superseded by CSI drivers.
  flocker: A Flocker dataset. No node mounts it any more.
  gcePersistentDisk: A disk of Google Cloud, handled by the CSI driver pd.csi.storage.gke.io. New pods name a claim instead.
  gitRepo: A checkout of a repository. Nodes refuse it; clone in an init container into an emptyDir instead.
  glusterfs: A GlusterFS volume. No node mounts it any more.
  hostPath: A file or folder of the node. It gives the pod what is there, so few should be allowed to use it.
  image: The content of an OCI image or artifact, read-only.
  iscsi: A disk of an iSCSI target.
  name: Name by which containers mount it, a DNS label that is unique in the pod.
  nfs: A folder of an NFS server. Not on Windows.
  persistentVolumeClaim: A claim of the same namespace.
  photonPersistentDisk: A disk of Photon. No node mounts it any more.
  portworxVolume: A volume of Portworx, handled by the CSI driver pxd.portworx.com. New pods name a claim instead.
  projected: Files of several sources in one folder.
  quobyte: A Quobyte volume. No node mounts it any more.
  rbd: A Ceph block device. No node mounts it any more; use a CSI driver.
  scaleIO: A ScaleIO volume. No node mounts it any more.
  secret: Files made of a Secret. On Linux they lie in memory; on Windows on the node's disk, in clear text. They follow its changes, but for mounts with subPath.
  storageos: A StorageOS volume. No node mounts it any more.
  vsphereVolume: A disk of vSphere, handled by the CSI driver csi.vsphere.vmware.com. New pods name a claim instead.

EmptyDirVolumeSource: A folder that lives as long as the pod is on its node.
  medium: Empty for the node's disk (the default), Memory for a file system in memory that counts as memory of the containers, HugePages or HugePages-size for huge pages. Only the disk on Windows.
  sizeLimit: The most it may hold; a pod that puts more into it is evicted. In memory it is the size as well. Unset: no limit of its own.

HostPathVolumeSource: A file or folder of the node.
  path: Absolute path on the node. On Windows it may be a drive path or a named pipe such as \\.\pipe\name.
  type: What must be there: Directory, File, Socket, CharDevice or BlockDevice. DirectoryOrCreate and FileOrCreate make what is missing. Empty (the default): nothing is checked.

ConfigMapVolumeSource: Which keys of which ConfigMap become which files.
  defaultMode: Mode bits of the files, octal in YAML or decimal. Default 0644. No effect on Windows.
  items: The keys that become files, each with its path. Unset: all of them, by their own names.
  name: Name of the ConfigMap in the pod's namespace.
  optional: True lets the pod start without the ConfigMap or the keys. Default false.

SecretVolumeSource: Which keys of which Secret become which files.
  defaultMode: Mode bits of the files, octal in YAML or decimal. Default 0644. No effect on Windows.
  items: The keys that become files, each with its path. Unset: all of them, by their own names.
  optional: True lets the pod start without the Secret or the keys. Default false.
  secretName: Name of the Secret in the pod's namespace.

KeyToPath: A key that becomes a file.
  key: The key.
  mode: Mode bits of the file, 0 to 0777. Unset: the volume's defaultMode. No effect on Windows.
  path: Path of the file in the volume, relative and without a step upwards.

DownwardAPIVolumeSource: Which fields of the pod become files.
  defaultMode: Mode bits of the files. Default 0644. No effect on Windows.
  items: The files.

DownwardAPIVolumeFile: A file that tells of the pod. Exactly one of fieldRef and resourceFieldRef is set.
  fieldRef: A field of the pod: its name, namespace, uid, labels or annotations. Labels and annotations follow their changes.
  mode: Mode bits of the file, 0 to 0777. Unset: the volume's defaultMode. No effect on Windows.
  path: Path of the file in the volume, relative and without a step upwards.
  resourceFieldRef: A limit or request of a container, which must be named.

ProjectedVolumeSource: Which sources, and the mode of their files.
  defaultMode: Mode bits of the files. Default 0644. No effect on Windows.
  sources: The sources. Their paths must not meet.

VolumeProjection: One source of a projected volume. Exactly one field is set.
  clusterTrustBundle: Certificates of ClusterTrustBundles as one file.
  configMap: Keys of a ConfigMap.
  downwardAPI: What the pod is.
  podCertificate: A key and a certificate made for the pod, renewed in time.
  secret: Keys of a Secret.
  serviceAccountToken: A token of the pod's service account, renewed in time.

ConfigMapProjection: Which keys of which ConfigMap become which files.
  items: The keys that become files, each with its path. Unset: all of them, by their own names.
  name: Name of the ConfigMap in the pod's namespace.
  optional: True lets the pod start without the ConfigMap or the keys. Default false.

SecretProjection: Which keys of which Secret become which files.
  items: The keys that become files, each with its path. Unset: all of them, by their own names.
  name: Name of the Secret in the pod's namespace.
  optional: True lets the pod start without the Secret or the keys. Default false.

DownwardAPIProjection: Which fields of the pod become files.
  items: The files.

ServiceAccountTokenProjection: A token by which the pod says who it is.
  audience: For whom the token is; others must refuse it. Unset: the API server.
  expirationSeconds: Seconds for which the token is good, at least 600. Default 3600. The kubelet renews it after 80 percent of them, and after a day at the latest.
  path: Path of the file in the volume.

ClusterTrustBundleProjection: Certificates of authorities as one PEM file. They follow changes.
  labelSelector: Bundles of the signer by their labels. Only with signerName. Unset: none. Empty: all of them.
  name: The one bundle to take. Excludes signerName and labelSelector.
  optional: True lets the pod start when no bundle is there. Default false.
  path: Path of the file in the volume.
  signerName: The signer whose bundles are taken, in no certain order and without repeats. Excludes name.

PodCertificateProjection: A key made on the node and a certificate for it. The kubelet asks the signer for a new one in time.
  certificateChainPath: Path of a file with the certificates alone. Prefer credentialBundlePath: two files may be read at different moments of a renewal.
  credentialBundlePath: Path of a file with the key, then the certificates, as PEM.
  keyPath: Path of a file with the key alone.
  keyType: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.
  maxExpirationSeconds: The longest that the certificate may be good, 3600 to 7862400 (91 days). Default 86400. Signers may give less.
  signerName: The signer that is asked.
  userAnnotations: More that the signer is told, by keys with a domain. Signers say which they know.

PersistentVolumeClaimVolumeSource: A claim as a volume.
  claimName: Name of the PersistentVolumeClaim in the pod's namespace.
  readOnly: True mounts it read-only in all containers. Default false.

EphemeralVolumeSource: A claim that lives as long as the pod.
  volumeClaimTemplate: The claim that is made. Cannot be changed.

PersistentVolumeClaimTemplate: What the claim asks for, and its labels.
  metadata: Labels and annotations of the claim. No other field is allowed.
  spec: What is claimed.

CSIVolumeSource: A volume that a CSI driver makes for one pod.
  driver: Name of the driver. It must allow such volumes.
  fsType: File system to mount, such as ext4. Unset: the driver chooses.
  nodePublishSecretRef: A Secret of the pod's namespace that the driver gets when it mounts the volume.
  readOnly: True mounts it read-only. Default false.
  volumeAttributes: Settings that the driver knows.

ImageVolumeSource: Which image, and when it is pulled.
  pullPolicy: Always asks the registry, IfNotPresent when the node does not have it, Never does not. Default Always for the tag latest and for none, else IfNotPresent.
  reference: Name of the image, as of a container. Credentials are found the same way.

NFSVolumeSource: Which folder of which server. The node needs a client of NFS.
  path: The folder that the server exports.
  readOnly: True mounts it read-only. Default false.
  server: Name or address of the server.

ISCSIVolumeSource ISCSIPersistentVolumeSource: Where the target is, and as whom the node asks for it.
  chapAuthDiscovery: Whether CHAP names who asks when targets are looked for. Default false.
  chapAuthSession: Whether CHAP names who asks when the disk is used. Default false.
  fsType: File system to mount, such as ext4 (the default).
  initiatorName: Name of the initiator. Unset: the node's.
  iqn: Name of the target.
  iscsiInterface: Interface of the initiator. Default default, which is TCP.
  lun: Number of the unit.
  portals: More portals, as address or address:port, for several ways to the disk.
  readOnly: True mounts it read-only. Default false.
  secretRef: Secret with the names and passwords of CHAP.
  targetPortal: Portal of the target, as address or address:port. Default port 3260.

FCVolumeSource: Which disk: either wwids, or targetWWNs with lun.
  fsType: File system to mount, such as ext4 (the default).
  lun: Number of the unit.
  readOnly: True mounts it read-only. Default false.
  targetWWNs: World wide names of the targets.
  wwids: World wide identifiers of the volume.

FlexVolumeSource FlexPersistentVolumeSource: Which program of the node, and its settings.
  driver: Name of the program's driver.
  fsType: File system to mount. Unset: the program chooses.
  options: Settings that the program knows.
  readOnly: True mounts it read-only. Default false.
  secretRef: Secret that the program gets.

AWSElasticBlockStoreVolumeSource: Which disk. It must be in the zone of the node.
  fsType: File system to mount, such as ext4 (the default), or ntfs on Windows.
  partition: Number of the partition. 0 or unset: the whole disk.
  readOnly: True mounts it read-only. Default false.
  volumeID: The disk's id at AWS.

AzureDiskVolumeSource: Which disk, and how it is cached.
  cachingMode: How the host caches: None, ReadOnly or ReadWrite (the default).
  diskName: Name of the disk.
  diskURI: Where the disk is.
  fsType: File system to mount, such as ext4 (the default), or ntfs on Windows.
  kind: Shared (the default) for several disks in one storage account, Dedicated for one, Managed for managed disks.
  readOnly: True mounts it read-only. Default false.

AzureFileVolumeSource: Which share, and the account to reach it with.
  readOnly: True mounts it read-only. Default false.
  secretName: Secret with the name and the key of the storage account.
  shareName: Name of the share.

AzureFilePersistentVolumeSource: Which share, and the account to reach it with.
  readOnly: True mounts it read-only. Default false.
  secretName: Secret with the name and the key of the storage account.
  secretNamespace: Namespace of the Secret. Unset: that of the pod's claim.
  shareName: Name of the share.

CephFSVolumeSource CephFSPersistentVolumeSource: Which folder of which monitors, and as whom it is mounted.
  monitors: Addresses of Ceph monitors.
  path: The folder that is mounted. Default /.
  readOnly: True mounts it read-only. Default false.
  secretFile: File of the node with the user's key. Default /etc/ceph/user.secret.
  secretRef: Secret with the user's key. It comes before secretFile.
  user: The user at Ceph. Default admin.

CinderVolumeSource CinderPersistentVolumeSource: Which disk. It must be in the zone of the node.
  fsType: File system to mount, such as ext4 (the default).
  readOnly: True mounts it read-only. Default false.
  secretRef: Secret with what is needed to reach OpenStack.
  volumeID: The disk's id at OpenStack.

FlockerVolumeSource: Which dataset: by its name or by its UUID.
  datasetName: Name of the dataset.
  datasetUUID: UUID of the dataset.

GCEPersistentDiskVolumeSource: Which disk. It must be in the zone of the node.
  fsType: File system to mount, such as ext4 (the default), or ntfs on Windows.
  partition: Number of the partition. 0 or unset: the whole disk.
  pdName: Name of the disk.
  readOnly: True mounts it read-only. Default false.

GitRepoVolumeSource: Which repository, and where it is checked out.
  directory: Folder of the checkout in the volume, without a step upwards. A dot is the volume itself. Unset: a folder named after the repository.
  repository: Where the repository is.
  revision: The commit. Unset: the newest of the main branch.

GlusterfsVolumeSource: Which volume of which servers.
  endpoints: Endpoints object with the servers.
  path: Name of the volume.
  readOnly: True mounts it read-only. Default false.

GlusterfsPersistentVolumeSource: Which volume of which servers.
  endpoints: Endpoints object with the servers.
  endpointsNamespace: Namespace of the Endpoints. Unset: that of the claim.
  path: Name of the volume.
  readOnly: True mounts it read-only. Default false.

PhotonPersistentDiskVolumeSource: Which disk.
  fsType: File system to mount, such as ext4 (the default).
  pdID: The disk's id.

PortworxVolumeSource: Which volume.
  fsType: File system to mount, ext4 (the default) or xfs.
  readOnly: True mounts it read-only. Default false.
  volumeID: The volume's id.

QuobyteVolumeSource: Which volume of which registries, and as whom it is mounted.
  group: Group to which files belong. Default none.
  readOnly: True mounts it read-only. Default false.
  registry: Registries as host:port, with commas between them.
  tenant: The tenant that owns the volume.
  user: User to whom files belong. Default that of the service.
  volume: Name of the volume.

RBDVolumeSource RBDPersistentVolumeSource: Which image of which monitors, and as whom it is mounted.
  fsType: File system to mount, such as ext4 (the default).
  image: Name of the image at Ceph.
  keyring: File of the node with the user's key. Default /etc/ceph/keyring.
  monitors: Addresses of Ceph monitors.
  pool: The pool. Default rbd.
  readOnly: True mounts it read-only. Default false.
  secretRef: Secret with the user's key. It comes before keyring.
  user: The user at Ceph. Default admin.

ScaleIOVolumeSource ScaleIOPersistentVolumeSource: Which volume, and the gateway to reach it by.
  fsType: File system to mount. Default xfs.
  gateway: Where the gateway of ScaleIO is.
  protectionDomain: The protection domain of the storage.
  readOnly: True mounts it read-only. Default false.
  secretRef: Secret with the user and password of ScaleIO.
  sslEnabled: Whether the gateway is asked by TLS. Default false.
  storageMode: ThinProvisioned (the default) or ThickProvisioned.
  storagePool: The storage pool.
  system: Name of the storage system.
  volumeName: Name of the volume.

StorageOSVolumeSource StorageOSPersistentVolumeSource: Which volume, and the account to reach it with.
  fsType: File system to mount, such as ext4 (the default).
  readOnly: True mounts it read-only. Default false.
  secretRef: Secret with what is needed to reach the service.
  volumeName: Name of the volume.
  volumeNamespace: Namespace of the volume at StorageOS. Unset: that of the pod.

VsphereVirtualDiskVolumeSource: Which disk, and by which policy it is stored.
  fsType: File system to mount, such as ext4 (the default), or ntfs on Windows.
  storagePolicyID: Id of the storage policy.
  storagePolicyName: Name of the storage policy.
  volumePath: Path of the disk.

LocalVolumeSource: Where it is on the node. It may be a folder, a partition or a disk.
  fsType: File system to make on a raw device that has none, such as ext4. Unset: one is chosen.
  path: Path on the node, of a folder or of a block device.

CSIPersistentVolumeSource: Which driver and which of its volumes, and the Secrets that the driver needs.
  controllerExpandSecretRef: Secret that the driver gets when the volume is made larger at the storage.
  controllerPublishSecretRef: Secret that the driver gets when the volume is attached to a node and detached.
  driver: Name of the driver.
  fsType: File system to mount, such as ext4. Unset: the driver chooses.
  nodeExpandSecretRef: Secret that the driver gets when the volume is made larger on the node.
  nodePublishSecretRef: Secret that the driver gets when the volume is mounted for a pod and unmounted.
  nodeStageSecretRef: Secret that the driver gets when the volume is first mounted on a node.
  readOnly: True attaches and mounts it read-only. Default false.
  volumeAttributes: What the driver said of the volume when it made it.
  volumeHandle: Name by which the driver knows the volume.

PersistentVolume: A piece of storage that outlives pods. It is made by hand or for a claim, and is bound to one claim at a time. It belongs to no namespace.
  spec: What the storage is and who may use it.
  status: Whether it is bound. Kept by the cluster: other writes leave it as it is.

PersistentVolumeSpec: What a volume is. Exactly one of the kinds of storage is set, and it cannot be changed.
  accessModes: Ways in which the volume can be mounted: ReadWriteOnce by one node, ReadOnlyMany and ReadWriteMany by many, ReadWriteOncePod by one pod.
  awsElasticBlockStore: A disk of AWS, handled by the CSI driver ebs.csi.aws.com.
  azureDisk: A disk of Azure, handled by the CSI driver disk.csi.azure.com.
  azureFile: A file share of Azure, handled by the CSI driver file.csi.azure.com.
  capacity: Size of the volume, as storage: 10Gi.
  cephfs: A CephFS folder. No node mounts it any more.
  cinder: A disk of OpenStack, handled by the CSI driver cinder.csi.openstack.org.
  claimRef: The claim that it is bound to, or that alone may have it. Set by the controller when they are bound.
  csi: A volume that a CSI driver made.
  fc: A disk of a Fibre Channel network.
  flexVolume: A volume that a program on the node mounts.
  flocker: A Flocker dataset. No node mounts it any more.
  gcePersistentDisk: A disk of Google Cloud, handled by the CSI driver pd.csi.storage.gke.io.
  glusterfs: A GlusterFS volume. No node mounts it any more.
  hostPath: A folder of whatever node the pod runs on: for trials on one node. Elsewhere take local.
  iscsi: A disk of an iSCSI target.
  local: A disk or folder of one node. Needs nodeAffinity that names the node.
  mountOptions: Options of the mount, such as ro or nfsvers=4. They are not checked: a wrong one makes the mount fail.
  nfs: A folder of an NFS server. Not on Windows.
  nodeAffinity: The nodes from which the volume can be reached. Pods that use it go there. Unset: all of them.
  persistentVolumeReclaimPolicy: What happens when its claim is deleted: Retain keeps it for somebody to look after (the default of those made by hand), Delete removes it with its storage (the default of a StorageClass), Recycle empties it and is no longer recommended.
  photonPersistentDisk: A disk of Photon. No node mounts it any more.
  portworxVolume: A volume of Portworx, handled by the CSI driver pxd.portworx.com.
  quobyte: A Quobyte volume. No node mounts it any more.
  rbd: A Ceph block device. No node mounts it any more.
  scaleIO: A ScaleIO volume. No node mounts it any more.
  storageClassName: The class that it belongs to: only claims of the same class get it. Empty: of none.
  storageos: A StorageOS volume. No node mounts it any more.
  volumeAttributesClassName: The VolumeAttributesClass whose settings the volume has. Unset: none.
  volumeMode: Filesystem (the default), or Block for a raw device. Block is not possible on Windows.
  vsphereVolume: A disk of vSphere, handled by the CSI driver csi.vsphere.vmware.com.

VolumeNodeAffinity: From which nodes a volume can be reached.
  required: What a node must be like.

PersistentVolumeStatus: How a volume stands.
  lastPhaseTransitionTime: When the phase last changed.
  message: Why it is in this phase, for people.
  phase: Pending, Available, Bound, Released after its claim was deleted, or Failed when it could not be recycled or deleted.
  reason: Why it failed, in one word.

PersistentVolumeClaim: Asks for storage of a certain size and kind. A volume that fits is bound to it, or one is made.
  spec: What is asked for. Once it is bound, only a greater request and another volumeAttributesClassName are taken.
  status: What the claim has got. Kept by the cluster: other writes leave it as it is.

PersistentVolumeClaimSpec: What storage is asked for.
  accessModes: Ways in which the volume is to be mounted: ReadWriteOnce by one node, ReadOnlyMany and ReadWriteMany by many, ReadWriteOncePod by one pod. The volume must be able to do them all.
  dataSource: A VolumeSnapshot, or a claim of the same namespace, whose content the volume begins with. Kept equal to dataSourceRef when that has no namespace.
  dataSourceRef: As dataSource, but any kind for which a populator is there, and also of another namespace where a ReferenceGrant allows it.
  resources: The least size, as requests: {storage: 10Gi}.
  selector: Labels that a volume must have. No volume is made for such a claim.
  storageClassName: The StorageClass of the volume. Empty: only volumes of no class, and none is made. Unset: the default class, if there is one.
  volumeAttributesClassName: The VolumeAttributesClass whose settings the volume is to have. Another may be named later. Unset: what the storage class says.
  volumeMode: Filesystem (the default), or Block for a raw device. Block is not possible on Windows.
  volumeName: The volume that is bound. Written into a new claim, it asks for this one.

VolumeResourceRequirements: What size a volume is asked to have.
  limits: The most that storage may be. Drivers may make smaller volumes.
  requests: The least that storage must be. It can be made greater when the class allows it, and smaller only to take back what did not succeed.

PersistentVolumeClaimStatus: What a claim has got.
  accessModes: Ways in which the volume can be mounted.
  allocatedResourceStatuses: How far a change of size is, by resource. Absent when none goes on.
  allocatedResources: Size that was asked of the storage, which may be greater than what there is yet.
  capacity: Size of the volume.
  conditions: What goes on with the claim, such as a change of size.
  currentVolumeAttributesClassName: The VolumeAttributesClass whose settings the volume has.
  modifyVolumeStatus: How far a change to another VolumeAttributesClass is.
  phase: Pending until it is bound, Bound, or Lost when its volume is gone.

PersistentVolumeClaimCondition: Something that goes on with a claim.
  lastProbeTime: When it was last looked at.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: What goes on, such as Resizing or FileSystemResizePending.

ModifyVolumeStatus: How far a change of a volume's settings is.
  status: Pending when something is missing, InProgress, or Infeasible when the driver refused.
  targetVolumeAttributesClassName: The class whose settings the volume is to get.
`;
