// What the types of pods, their containers and their scheduling are for.
export const corePods: string = String.raw`
Pod: One or more containers that run together on one node, share its network address and may share volumes. Most pods are made by a workload such as a Deployment, which replaces them when they end.
  spec: What is to run and how. Most of it cannot be changed once the pod exists; images, tolerations that are added, activeDeadlineSeconds and, through the resize subresource, resources can.
  status: What the node last said of the pod. Written by the kubelet and the scheduler, never by users.

PodTemplate: A template of pods kept under a name of its own. Controllers that make pods carry their template inside instead.
  template: The pods that are to be made of it.

PodTemplateSpec: What a controller makes pods of.
  metadata: Labels and annotations of the pods. A name is ignored: the controller gives each pod its own.
  spec: What the pods run.

PodSpec: What a pod runs, where it may run, and what its containers share.
  activeDeadlineSeconds: Seconds after the start on the node, at least 1, when the pod is ended and marked Failed with the reason DeadlineExceeded. Unset: it may run for ever. May be added or made smaller later.
  affinity: Rules by which the scheduler prefers or demands nodes, by their labels or by the pods that run there.
  automountServiceAccountToken: Whether containers find a token of the service account at /var/run/secrets/kubernetes.io/serviceaccount. Unset: what the service account says, else true.
  containers: The containers of the pod, at least one. None can be added or removed once the pod exists.
  dnsConfig: Name servers, search domains and resolver options that are added to what dnsPolicy gives.
  dnsPolicy: Where the resolver's configuration comes from. ClusterFirst (the default) asks the cluster's DNS; Default takes the node's; None takes only dnsConfig; ClusterFirstWithHostNet is ClusterFirst for pods with hostNetwork. On Windows ClusterFirstWithHostNet means ClusterFirst.
  enableServiceLinks: Whether containers get environment variables such as WEB_SERVICE_HOST for each Service of the namespace. Default true.
  ephemeralContainers: Containers that were put into the running pod to look at it. They can be added only through the ephemeralcontainers subresource (kubectl debug) and never removed.
  hostAliases: Lines that are added to the hosts file of the containers. Not for HostProcess containers on Windows.
  hostIPC: Uses the node's IPC namespace. Default false. Not for Windows pods.
  hostNetwork: Uses the node's network: the pod has the node's address, and each containerPort must be free on the node. Default false. On Windows only for HostProcess pods, which need it.
  hostPID: Uses the node's process namespace, so that containers see all its processes. Default false; excludes shareProcessNamespace. Not for Windows pods.
  hostUsers: False gives the pod a user namespace of its own: root in a container is nobody on the node. Default true. False excludes hostNetwork, hostPID and hostIPC. Must not be set for Windows pods.
  hostname: Name of the host inside the pod, a DNS label. Unset: the name of the pod.
  hostnameOverride: Full name of the host inside the pod, at most 64 characters, whatever DNS says of it. Excludes setHostnameAsFQDN and hostNetwork.
  imagePullSecrets: Secrets of this namespace with credentials for registries, tried in turn for each image. Those of the service account are taken when the list is empty.
  initContainers: Containers that run one after the other before the others start; each must end well first. One with restartPolicy Always is a sidecar: it keeps running beside the containers.
  nodeName: The node that the pod runs on; set by the scheduler. Written into a new pod it puts it there without asking the scheduler, and the node refuses what it has no room for.
  nodeSelector: Labels that a node must all have. Windows pods should name kubernetes.io/os: windows here.
  os: The operating system that the containers are made for. Fields that it does not know are refused, and a node with another refuses the pod.
  overhead: Resources that the pod itself uses beside its containers, such as those of a virtual machine. Set from the RuntimeClass; another value is refused.
  preemptionPolicy: Whether pods of lower priority may be ended to make room: PreemptLowerPriority (the default) or Never. Set from the PriorityClass.
  priority: The importance of the pod, a higher number first. Set from the PriorityClass; another value is refused.
  priorityClassName: The PriorityClass, which gives the priority. Unset: the class that is marked as the default, else priority 0.
  readinessGates: Conditions in status.conditions, set by others, that must be True beside ready containers before the pod counts as ready.
  resourceClaims: Claims of devices that containers may name in resources.claims. Cannot be changed.
  resources: Requests and limits of cpu, memory and huge pages for all containers together. Unset: what the containers add up to. Not for Windows pods.
  restartPolicy: What happens when a container ends: Always starts it again (the default), OnFailure does so after an error, Never does not. Jobs take OnFailure or Never.
  runtimeClassName: The RuntimeClass, which names the container runtime to use. Unset: the node's default runtime.
  schedulerName: The scheduler that finds a node for the pod. Default default-scheduler. When none of that name runs the pod stays Pending.
  schedulingGates: Reasons not to look for a node yet. The pod waits until the list is empty; entries can be removed later, none added.
  schedulingGroup: The group of pods with which this one is scheduled. Cannot be changed.
  securityContext: Users, groups and other rights of all containers. What a container sets itself comes first.
  serviceAccount: Former name of serviceAccountName, kept equal to it. Use that one.
  serviceAccountName: The ServiceAccount as which the pod talks to the API server. Default default. It must exist when the pod is created.
  setHostnameAsFQDN: True makes the full domain name the host name inside the pod; on Windows it is written to the registry. Default false. A pod whose name is longer than 64 characters does not start.
  shareProcessNamespace: True lets all containers see one another's processes. Default false; excludes hostPID. Must not be set for Windows pods.
  subdomain: With hostname, the pod's full name is hostname.subdomain.namespace.svc and the cluster's domain; a headless Service with this name makes DNS answer it.
  terminationGracePeriodSeconds: Seconds between asking the containers to stop and killing them, for the preStop hook and the stop signal together. Default 30; 0 kills at once. On Windows the image may need a longer shutdown time of its own.
  tolerations: Taints of nodes that the pod bears. The API server adds two for nodes that are not ready or cannot be reached, of 300 seconds each.
  topologySpreadConstraints: How evenly pods of a kind are spread over nodes, zones or other domains. All of them must hold.
  volumes: What containers may mount, each under a name.

PodOS: The operating system that a pod is made for.
  name: linux or windows.

PodSchedulingGate: A reason not to schedule a pod yet.
  name: Name of the gate, as a qualified name such as example.com/quota. Each may stand once.

PodSchedulingGroup: Which group of pods a pod is scheduled with.
  podGroupName: Name of the PodGroup in the same namespace.

PodReadinessGate: A condition that a pod needs to be ready.
  conditionType: Type of the condition in status.conditions, a qualified name.

PodResourceClaim: A claim of devices that a pod uses. Exactly one of resourceClaimName and resourceClaimTemplateName names it.
  name: The name by which containers refer to the claim, unique in the pod.
  resourceClaimName: A ResourceClaim of the same namespace, which pods may share.
  resourceClaimTemplateName: A ResourceClaimTemplate of the same namespace; the pod gets a claim of its own that is made of it and goes with the pod.

PodResourceClaimStatus: The claim that was made for an entry of spec.resourceClaims.
  name: The entry's name.
  resourceClaimName: The claim that was made of the template. Unset: none was needed.

PodExtendedResourceClaimStatus: The claim that stands for extended resources which devices provide.
  requestMappings: Which request of the claim serves which resource of which container.
  resourceClaimName: Name of the claim that was made for the pod.

ContainerExtendedResourceRequest: Ties an extended resource of a container to a request of a claim.
  containerName: The container that asks for the resource.
  requestName: The request of the claim that serves it.
  resourceName: The extended resource, such as example.com/gpu.

NodeAllocatableResourceClaimStatus: What a claim takes of resources that the node counts as allocatable.
  containers: The containers that use the claim.
  resourceClaimName: The ResourceClaim.
  resources: How much of each resource the claim takes.

PodSecurityContext: Rights of all containers of a pod, and how its volumes are owned.
  appArmorProfile: The AppArmor profile of the containers. Not for Windows pods.
  fsGroup: A group that owns the files of volumes which support it, and that all processes belong to. Unset: owners stay as they are. Not for Windows pods.
  fsGroupChangePolicy: Always gives all files of a volume to fsGroup at each mount (the default); OnRootMismatch only when the top folder is not as it should be, which is faster. Not for Windows pods.
  runAsGroup: Group number of the first process. Unset: the group of the image. A container's own comes first. Not for Windows pods.
  runAsNonRoot: True makes the node refuse to start a container that would run as user 0, or on Windows as ContainerAdministrator. A container's own comes first.
  runAsUser: User number of the first process. Unset: the user of the image. A container's own comes first. Not for Windows pods, which have windowsOptions.runAsUserName.
  seLinuxChangePolicy: How the SELinux label is put on volumes: MountOption where the volume supports it (the default), which is fast, or Recursive, file by file. Not for Windows pods.
  seLinuxOptions: The SELinux label of the containers. Unset: the runtime chooses one. Not for Windows pods.
  seccompProfile: The system calls that the containers may make. A container's own comes first. Not for Windows pods.
  supplementalGroups: More groups of the first process, beside runAsGroup and fsGroup. Not for Windows pods.
  supplementalGroupsPolicy: Merge adds the groups that the image gives its user (the default); Strict takes only those that are named here, and needs a node that can do so. Not for Windows pods.
  sysctls: Kernel settings of the pod's namespaces. The node refuses those that it does not allow. Not for Windows pods.
  windowsOptions: What is different on Windows. A container's own fields come first. Must not be set when os.name is linux.

SecurityContext: Rights of one container. Where the pod has the same field, this one counts.
  allowPrivilegeEscalation: Whether a process may get more rights than its parent has, as by setuid. Unset: true. Always true when privileged or with CAP_SYS_ADMIN. Must not be set for Windows pods.
  appArmorProfile: The AppArmor profile of the container. Unset: the pod's. Not for Windows pods.
  capabilities: Linux capabilities that are added to or taken from the runtime's default. Not for Windows pods.
  privileged: True gives the container nearly all rights of root on the node. Default false. Must not be set for Windows pods, which have windowsOptions.hostProcess.
  procMount: Default hides parts of /proc; Unmasked shows all of it and needs hostUsers false. Not for Windows pods.
  readOnlyRootFilesystem: True lets the container write to its volumes only. Default false. Must not be set for Windows pods.
  runAsGroup: Group number of the first process. Unset: the pod's, else the image's. Not for Windows pods.
  runAsNonRoot: True makes the node refuse to start the container as user 0, or on Windows as ContainerAdministrator. Unset: the pod's.
  runAsUser: User number of the first process. Unset: the pod's, else the image's. Not for Windows pods.
  seLinuxOptions: The SELinux label of the container. Unset: the pod's, else one of the runtime's choice. Not for Windows pods.
  seccompProfile: The system calls that the container may make. Unset: the pod's. Not for Windows pods.
  windowsOptions: What is different on Windows. Each field that is set comes before the pod's. Must not be set when os.name is linux.

WindowsSecurityContextOptions: Rights of Windows containers.
  gmsaCredentialSpec: The credential specification of a group managed service account, as JSON of at most 64 KiB. Usually filled in from gmsaCredentialSpecName by a webhook. Set on a container, it replaces the pod's together with the name.
  gmsaCredentialSpecName: Name of the GMSACredentialSpec object whose content is wanted in gmsaCredentialSpec.
  hostProcess: True runs the container as processes of the node itself. All containers of a pod must agree, and hostNetwork must be true. Default false.
  runAsUserName: User as whom the first process runs, as DOMAIN\user or user, such as ContainerUser or NT AUTHORITY\SYSTEM. The user must exist in the image. Unset: the user of the image.

AppArmorProfile: Which AppArmor profile confines a container.
  localhostProfile: Name of a profile that is loaded on the node. Needed when the type is Localhost, and not allowed otherwise.
  type: Localhost for a profile of the node, RuntimeDefault for the runtime's own, Unconfined for none.

SeccompProfile: Which system calls a container may make.
  localhostProfile: File of the profile, relative to the node's seccomp folder. Needed when the type is Localhost, and not allowed otherwise.
  type: Localhost for a file of the node, RuntimeDefault for the runtime's own profile, Unconfined for no limits.

SELinuxOptions: Parts of an SELinux label.
  level: The level.
  role: The role.
  type: The type.
  user: The user.

Sysctl: A kernel setting.
  name: Its name, such as net.ipv4.ip_unprivileged_port_start.
  value: Its value.

Capabilities: Linux capabilities by name, without the prefix CAP_; ALL means all of them.
  add: Those that the container gets beside the default ones.
  drop: Those that are taken from it, before the others are added.

Container: A program with its image, its surroundings and its limits.
  args: Arguments of the program, in place of the image's CMD. $(NAME) stands for the value of an environment variable, $$(NAME) for the text itself. Cannot be changed.
  command: The program and its first arguments, in place of the image's ENTRYPOINT; no shell is involved. $(NAME) stands for a variable as in args. Cannot be changed.
  env: Environment variables. They come before those of envFrom.
  envFrom: ConfigMaps and Secrets of which each key becomes an environment variable. Of equal keys the last one counts.
  image: Name of the image with tag or digest. Without either the tag is latest. The image must fit the node's system and, on Windows, its version.
  imagePullPolicy: Always asks the registry at each start, IfNotPresent when the node does not have the image, Never does not. Default Always for the tag latest and for none, else IfNotPresent.
  lifecycle: What is done right after the start and before the end, and the signal that asks to stop.
  livenessProbe: Asked regularly while the container runs; when it fails too often the container is started again. Unset: it is alive as long as its process is.
  name: Name of the container, a DNS label that is unique in the pod. Cannot be changed.
  ports: Ports that the program listens on. They are named for Services and probes; a port that is not listed can be reached all the same.
  readinessProbe: Asked regularly while the container runs; as long as it fails, Services send nothing to the pod. Unset: ready as soon as it runs.
  resizePolicy: Whether a change of cpu or memory needs a restart of the container.
  resources: What the container needs and what it may use of cpu, memory and other resources.
  restartPolicy: When this container is started again. On an init container Always makes it a sidecar. Unset: what the pod's restartPolicy says.
  restartPolicyRules: Rules that look at how the container ended before restartPolicy counts; the first that matches decides. Needs restartPolicy on the container.
  securityContext: Rights of this container. They come before the pod's.
  startupProbe: Asked from the start until it succeeds; before that no other probe is asked. When it fails too often the container is started again.
  stdin: Keeps standard input open so that one can attach to it. Default false: reads meet the end at once.
  stdinOnce: Closes standard input when the first client that attached has gone. Default false.
  terminationMessagePath: File inside the container whose text becomes the message of its end, up to 4096 bytes. Default /dev/termination-log. Cannot be changed.
  terminationMessagePolicy: File reads only that file (the default); FallbackToLogsOnError takes the end of the log when it is empty and the container failed. Cannot be changed.
  tty: Gives the container a terminal. Default false; needs stdin.
  volumeDevices: Raw block devices of claims, each at a path. Not on Windows.
  volumeMounts: Where volumes of the pod are seen inside the container. Cannot be changed.
  workingDir: Folder in which the program starts. Unset: that of the image. Cannot be changed.

EphemeralContainer: A container that is put into a running pod to look for what is wrong. It gets no resources of its own, is never started again and cannot be removed.
  args: Arguments of the program, in place of the image's CMD. $(NAME) stands for the value of an environment variable, $$(NAME) for the text itself.
  command: The program and its first arguments, in place of the image's ENTRYPOINT; no shell is involved.
  env: Environment variables. They come before those of envFrom.
  envFrom: ConfigMaps and Secrets of which each key becomes an environment variable.
  image: Name of the image with tag or digest.
  imagePullPolicy: Always asks the registry, IfNotPresent when the node does not have the image, Never does not. Default Always for the tag latest and for none, else IfNotPresent.
  lifecycle: Not allowed here.
  livenessProbe: Not allowed here.
  name: Name of the container, unique among all containers of the pod.
  ports: Not allowed here.
  readinessProbe: Not allowed here.
  resizePolicy: Not allowed here.
  resources: Not allowed here: it uses what is left of the pod's resources.
  restartPolicy: Not allowed here.
  restartPolicyRules: Not allowed here.
  securityContext: Rights of this container. They come before the pod's.
  startupProbe: Not allowed here.
  stdin: Keeps standard input open so that one can attach to it. Default false.
  stdinOnce: Closes standard input when the first client that attached has gone. Default false.
  targetContainerName: The container whose processes this one sees, where the runtime can do so. Unset: those that the pod's settings give. It has no effect on Windows.
  terminationMessagePath: File inside the container whose text becomes the message of its end. Default /dev/termination-log.
  terminationMessagePolicy: File reads only that file (the default); FallbackToLogsOnError takes the end of the log when it is empty and the container failed.
  tty: Gives the container a terminal. Default false; needs stdin.
  volumeDevices: Raw block devices of claims, each at a path.
  volumeMounts: Where volumes of the pod are seen inside the container. Without subPath.
  workingDir: Folder in which the program starts. Unset: that of the image.

ContainerPort: A port that a container listens on.
  containerPort: Number of the port in the pod, 1 to 65535.
  hostIP: Address of the node on which hostPort is taken. Unset: all of them.
  hostPort: Port of the node that leads to this one. Two pods that ask for the same cannot share a node. With hostNetwork it equals containerPort. Unset: none.
  name: Name by which Services and probes may call the port: up to 15 small letters, digits and dashes, unique in the pod.
  protocol: TCP (the default), UDP or SCTP.

ContainerResizePolicy: What a change of a resource means to a running container.
  resourceName: cpu or memory.
  restartPolicy: NotRequired changes the limits while it runs; RestartContainer starts the container again with the new ones.

ContainerRestartRule: What is done when a container ended in a certain way.
  action: Restart starts the container again; RestartAllContainers starts all containers of the pod again.
  exitCodes: The exit codes that the rule is for.

ContainerRestartRuleOnExitCodes: A set of exit codes.
  operator: In matches the codes that are listed, NotIn all others.
  values: The exit codes, at most 255 of them.

EnvVar: An environment variable. At most one of value and valueFrom is set.
  name: Name of the variable. Any printable characters but the equals sign.
  value: Its value. $(NAME) stands for a variable that was defined before, $$(NAME) for the text itself. Default empty.
  valueFrom: Takes the value from elsewhere when the container starts.

EnvVarSource: Where the value of an environment variable is found. Exactly one field is set.
  configMapKeyRef: The value of a key of a ConfigMap. It does not follow later changes.
  fieldRef: A field of the pod: metadata.name, metadata.namespace, metadata.uid, metadata.labels['key'], metadata.annotations['key'], spec.nodeName, spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP or status.podIPs.
  fileKeyRef: A key of a file that an init container wrote into an emptyDir volume.
  resourceFieldRef: A limit or request of a container: cpu, memory, ephemeral-storage or huge pages.
  secretKeyRef: The value of a key of a Secret. It does not follow later changes.

EnvFromSource: An object whose keys become environment variables. Exactly one of configMapRef and secretRef is set.
  configMapRef: The ConfigMap.
  prefix: Text put before each key. Default none.
  secretRef: The Secret.

ConfigMapEnvSource: A ConfigMap of which every key becomes an environment variable.
  name: Name of the ConfigMap in the pod's namespace.
  optional: True lets the container start without it. Default false.

SecretEnvSource: A Secret of which every key becomes an environment variable.
  name: Name of the Secret in the pod's namespace.
  optional: True lets the container start without it. Default false.

ConfigMapKeySelector: Which key of which ConfigMap.
  key: The key. It must be there unless optional is true.
  name: Name of the ConfigMap in the same namespace.
  optional: True lets the container start without the ConfigMap or the key. Default false.

SecretKeySelector: Which key of which Secret.
  key: The key. It must be there unless optional is true.
  name: Name of the Secret in the same namespace.
  optional: True lets the container start without the Secret or the key. Default false.

FileKeySelector: A variable in a file of lines NAME=value, which an init container wrote.
  key: Name of the variable in the file, at most 128 characters.
  optional: True lets the container start when the file or the key is missing. Default false.
  path: The file, relative to the volume, without a step upwards.
  volumeName: The emptyDir volume that holds the file.

ObjectFieldSelector: A field of the pod itself.
  apiVersion: Version of the API by which fieldPath is read. Default v1.
  fieldPath: The field, such as metadata.name or status.podIP.

ResourceFieldSelector: A limit or request of a container as a number.
  containerName: The container. Needed in volumes; in environment variables it is the container itself by default.
  divisor: The unit that the value is counted in, rounded up, such as 1Mi or 1m. Default 1: whole cores or bytes.
  resource: The field, such as limits.cpu or requests.memory. A limit that is not set is the node's whole capacity.

Lifecycle: What a container does at the start and the end of its life.
  postStart: Done right after the container was created, at the same time as its own start. When it fails the container is killed.
  preStop: Done before the container is asked to stop. It takes from the time of grace, and the container is stopped in any case.
  stopSignal: The signal that asks the container to stop. Unset: the image's, else SIGTERM. Needs os.name on the pod; on Windows only SIGTERM and SIGKILL.

LifecycleHandler: Something that is done in or with a container. Exactly one field is set.
  exec: Runs a program.
  httpGet: Sends an HTTP GET to the container.
  sleep: Waits.
  tcpSocket: Not supported for hooks: such a hook fails when it is due. The field is kept so that old objects stay valid.

SleepAction: A wait.
  seconds: How long to wait, at least 0 and not more than the pod's time of grace.

ExecAction: A program that runs inside a container. Exit code 0 is success.
  command: The program and its arguments. No shell reads them: name one when its features are wanted, on Windows such as cmd /c.

HTTPGetAction: An HTTP GET. Status codes from 200 to 399 are success.
  host: Name or address that is asked. Unset: the pod's address, which is nearly always right; to send a host name set the header Host.
  httpHeaders: Headers to send. A name may stand more than once.
  path: Path that is asked for. Default /.
  port: Port by number (1 to 65535) or by the name of one of the container's ports.
  scheme: HTTP (the default) or HTTPS. The certificate is not checked.

HTTPHeader: A header of a request.
  name: Its name; letters of any case mean the same.
  value: Its value.

TCPSocketAction: A connection that is opened and closed again. That it can be opened is success.
  host: Name or address to connect to. Unset: the pod's address.
  port: Port by number (1 to 65535) or by the name of one of the container's ports.

GRPCAction: A question to the health service of gRPC. The answer SERVING is success.
  port: Port number of the gRPC server, 1 to 65535.
  service: Name of the service that is asked about. Default empty: the server as a whole.

Probe: A question that is asked a container again and again. Exactly one of exec, grpc, httpGet and tcpSocket says how.
  exec: Asks by running a program inside the container.
  failureThreshold: How many failures in a row count as failed. At least 1, default 3.
  grpc: Asks by gRPC.
  httpGet: Asks by HTTP, from the node.
  initialDelaySeconds: Seconds after the start of the container before the first question. Default 0.
  periodSeconds: Seconds between two questions. At least 1, default 10.
  successThreshold: How many successes in a row after a failure count as succeeded. At least 1, default 1; must be 1 for liveness and startup probes.
  tcpSocket: Asks by opening a connection, from the node.
  terminationGracePeriodSeconds: Seconds that the container has to stop after this probe failed, at least 1. Unset: the pod's. Not allowed for readiness probes.
  timeoutSeconds: Seconds after which a question without an answer has failed. At least 1, default 1.

ResourceRequirements: What containers need and may use. Requests must not be greater than limits.
  claims: Claims of the pod's resourceClaims whose devices the container gets. Cannot be changed.
  limits: The most of each resource that may be used. More cpu is throttled; more memory ends the container on Linux, and on Windows makes the allocation fail. Unset: no limit.
  requests: What the scheduler sets aside on the node for each resource. Unset: the limit, where there is one, else nothing. On Windows it counts for scheduling only.

ResourceClaim: A claim of the pod that a container uses.
  name: Name of an entry of the pod's resourceClaims.
  request: Name of one request of that claim. Unset: the devices of all of them.

VolumeMount: Where a volume is seen inside a container.
  mountPath: Path in the container; no colon in it on Linux. On Windows slashes may be written, a path without a drive is on C:, and a whole drive is refused.
  mountPropagation: Whether mounts made later are seen: None on neither side (the default), HostToContainer those of the node, Bidirectional both, for privileged containers only. Always None on Windows.
  name: Name of the volume in the pod.
  readOnly: True lets the container only read. Default false.
  recursiveReadOnly: Whether mounts below a read-only one are read-only too: Disabled (the default), IfPossible, or Enabled, which fails where the runtime cannot do it. Needs readOnly and no propagation.
  subPath: Path in the volume that is mounted instead of all of it, without a step upwards. Such a mount does not see updates of ConfigMaps and Secrets.
  subPathExpr: As subPath, with environment variables as $(NAME). Excludes subPath.

VolumeDevice: A block device inside a container.
  devicePath: Path of the device in the container.
  name: Name of a volume of the pod that is a claim with volumeMode Block.

HostAlias: A line of the hosts file.
  hostnames: Names that mean the address.
  ip: The address.

PodDNSConfig: How names are resolved in the pod, beside what dnsPolicy gives.
  nameservers: Addresses of name servers, at most 3 together with those of the policy. Needed when the policy is None.
  options: Options of the resolver. One of the same name replaces that of the policy.
  searches: Domains to look names up in, at most 32 together with those of the policy. Windows looks up short names in the first only.

PodDNSConfigOption: An option of the resolver.
  name: Its name, such as ndots.
  value: Its value, where it has one.

Affinity: Where a pod likes or needs to run.
  nodeAffinity: To be on certain nodes, by their labels.
  podAffinity: To be near other pods.
  podAntiAffinity: To be away from other pods.

NodeAffinity: Which nodes a pod prefers or needs.
  preferredDuringSchedulingIgnoredDuringExecution: Terms that make a node better by their weight when it fits them. Another node is taken if need be.
  requiredDuringSchedulingIgnoredDuringExecution: What a node must be like. A pod that runs stays when the node's labels change.

PreferredSchedulingTerm: A wish for nodes.
  preference: What the node should be like. An empty term is no wish.
  weight: How much the wish counts, 1 to 100.

NodeSelector: Which nodes fit: those that fit one of the terms.
  nodeSelectorTerms: The terms, of which one must fit. At least one.

NodeSelectorTerm: What a node is like. All requirements must hold; a term without any fits no node.
  matchExpressions: Requirements of the node's labels.
  matchFields: Requirements of the node's fields; only metadata.name is known.

NodeSelectorRequirement: A requirement of a label's value.
  key: The label, or the field.
  operator: In or NotIn a list, Exists, DoesNotExist, or Gt or Lt for whole numbers.
  values: At least one for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt.

PodAffinity: Near which pods a pod likes or needs to run.
  preferredDuringSchedulingIgnoredDuringExecution: Terms that make a node better by their weight when such pods run in its domain.
  requiredDuringSchedulingIgnoredDuringExecution: Terms that must all hold. The first of a group of pods that ask for one another may start without them.

PodAntiAffinity: Away from which pods a pod likes or needs to run.
  preferredDuringSchedulingIgnoredDuringExecution: Terms that make a node worse by their weight when such pods run in its domain.
  requiredDuringSchedulingIgnoredDuringExecution: Terms of pods none of which may run in the domain of the node. It counts for those that run there as well: a pod that they keep away does not come.

WeightedPodAffinityTerm: A wish to be near, or away from, pods.
  podAffinityTerm: The pods, and what near means.
  weight: How much the wish counts, 1 to 100.

PodAffinityTerm: Pods, and the domain in which they count as near.
  labelSelector: The pods by their labels. Unset: none. Empty: all.
  matchLabelKeys: Labels of the new pod whose values the others must have as well, such as pod-template-hash. Needs labelSelector.
  mismatchLabelKeys: Labels of the new pod whose values the others must not have. Needs labelSelector.
  namespaceSelector: Namespaces by their labels, beside those that are listed. Empty: all. Unset with no list: the pod's own.
  namespaces: Namespaces by name. None here and no selector: the pod's own.
  topologyKey: The label of nodes whose value is the domain, such as kubernetes.io/hostname for one node or topology.kubernetes.io/zone.

TopologySpreadConstraint: How evenly pods are spread over domains of nodes.
  labelSelector: The pods that are counted. Those of the same namespace only.
  matchLabelKeys: Labels of the new pod whose values the counted pods must have as well. Needs labelSelector.
  maxSkew: By how many pods the fullest domain may exceed the emptiest. At least 1.
  minDomains: How many domains there should be, at least 1: with fewer, the emptiest is taken to hold no pods. Only with DoNotSchedule. Unset: 1.
  nodeAffinityPolicy: Honor counts only nodes that the pod's nodeSelector and nodeAffinity allow (the default), Ignore all.
  nodeTaintsPolicy: Honor counts only nodes whose taints the pod bears, Ignore all (the default).
  topologyKey: The label of nodes whose value is the domain. Nodes without it do not count.
  whenUnsatisfiable: DoNotSchedule keeps the pod waiting, ScheduleAnyway takes the node with the least difference.

Toleration: Taints that a pod bears.
  effect: The effect of the taint. Unset: all of them.
  key: The key of the taint. Unset, with operator Exists: every taint.
  operator: Equal to value (the default), Exists whatever the value, or Gt or Lt when the taint's value is a greater or a smaller whole number.
  tolerationSeconds: Seconds that the pod stays after a NoExecute taint appeared; 0 or less leaves at once. Unset: for ever. Only with effect NoExecute.
  value: The value of the taint. Empty with operator Exists.

PodStatus: What is known of a pod. It may be older than what is true on the node.
  allocatedResources: Requests of the whole pod that the node has set aside.
  conditions: Steps of the pod's life, such as PodScheduled, Initialized, ContainersReady and Ready.
  containerStatuses: The state of each container.
  ephemeralContainerStatuses: The state of each ephemeral container.
  extendedResourceClaimStatus: The claim that stands for extended resources which devices provide.
  hostIP: Address of the node. Unset until the pod is scheduled.
  hostIPs: All addresses of the node, one of each family. The first equals hostIP.
  initContainerStatuses: The state of each init container.
  message: Why the pod is in this state, for people.
  nodeAllocatableResourceClaimStatuses: What claims take of resources that the node counts as allocatable.
  nominatedNodeName: The node on which room is being made for the pod. It may still run elsewhere.
  observedGeneration: The metadata.generation of the pod that this status is about.
  phase: Pending until all containers were started, Running, Succeeded or Failed when all have ended, Unknown when the node cannot be asked.
  podIP: Address of the pod. Unset until it has one.
  podIPs: Addresses of the pod, at most one of each family. The first equals podIP.
  qosClass: Who gives way first when the node is short of memory: BestEffort without requests and limits, Burstable, and last Guaranteed, with requests equal to limits throughout.
  reason: Why the pod is in this state, in one word, such as Evicted.
  resize: Former way to say how far a resize is. See the conditions PodResizePending and PodResizeInProgress.
  resourceClaimStatuses: The claims that were made for spec.resourceClaims.
  resources: Requests and limits that are in force for the pod as a whole.
  startTime: When the node took the pod, before its images were pulled.

PodCondition: One side of a pod's state.
  lastProbeTime: When it was last looked at. Mostly unset.
  lastTransitionTime: When status last changed.
  message: Details for people.
  observedGeneration: The metadata.generation of the pod that the condition is about.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side, such as Ready.

PodIP: An address of a pod.
  ip: The address, IPv4 or IPv6.

HostIP: An address of a node.
  ip: The address, IPv4 or IPv6.

ContainerStatus: What is known of one container.
  allocatedResources: Requests that the node has set aside for the container.
  allocatedResourcesStatus: The health of devices that the container uses.
  containerID: The runtime and the container's name in it, as containerd://id.
  image: The image that runs; it may be written otherwise than in the spec.
  imageID: Digest of the image that runs.
  lastState: How the container ended the last time, when it was started again.
  name: Name of the container.
  ready: Whether the readiness probe, or for want of one the start, has succeeded.
  resources: Requests and limits that are in force.
  restartCount: How often the container was started again. Old ones that were removed from the node may not be counted.
  started: Whether the container runs, its postStart hook is done and its startup probe has succeeded.
  state: What it does now.
  stopSignal: The signal that asks the container to stop.
  user: As whom it was started.
  volumeMounts: How the volumes are mounted.

ContainerState: What a container does. At most one field is set; none means waiting.
  running: Since when it runs.
  terminated: How it ended.
  waiting: Why it does not run yet.

ContainerStateRunning: A container that runs.
  startedAt: When it was last started.

ContainerStateTerminated: A container that has ended.
  containerID: The runtime and the container's name in it, as containerd://id.
  exitCode: Exit code of the first process. 137 on Linux is often a kill.
  finishedAt: When it ended.
  message: What the container left as its last message.
  reason: Why, in one word: Completed, Error, OOMKilled and others. Windows has no OOMKilled.
  signal: The signal that ended it, where one did.
  startedAt: When it was started.

ContainerStateWaiting: A container that does not run yet.
  message: Details for people.
  reason: Why, in one word, such as ContainerCreating, ImagePullBackOff or CrashLoopBackOff.

ContainerUser: As whom a container's first process was started.
  linux: User and groups, on Linux. Not for Windows pods.

LinuxContainerUser: User and groups by number. A process with the right to do so may have changed them since.
  gid: Its first group.
  supplementalGroups: Its other groups.
  uid: The user.

ResourceStatus: The health of one resource of a container.
  name: The resource: an extended resource, or claim:name/request for devices of a claim.
  resources: The health of each device behind it.

ResourceHealth: The health of one device.
  health: Healthy, Unhealthy or Unknown.
  message: More about it, for people. At most 1024 characters.
  resourceID: The device, by a name that is unique in its driver or plugin.

VolumeMountStatus: How a volume is mounted.
  mountPath: Path in the container.
  name: Name of the volume.
  readOnly: Whether the container may only read.
  recursiveReadOnly: Whether mounts below are read-only too: Disabled or Enabled.
  volumeStatus: More of the volume, by its kind.

VolumeStatus: What is known of a volume that is mounted.
  image: The image, when the volume is one.

ImageVolumeStatus: An image that is mounted as a volume.
  imageRef: Digest of the image.

Binding: Puts a pod on a node: what a scheduler sends to the binding subresource.
  target: The node.
`;
