// What the types of apps and batch are for.
export const apps: string = `
Deployment: Keeps a number of equal pods running, and replaces them step by step when their template changes. Each template has a ReplicaSet of its own.
  spec: What is wanted: pods, and how changes reach them.
  status: How far it has got. Kept by the cluster: other writes leave it as it is.

DeploymentSpec: How many pods are wanted, of what kind, and how they are replaced.
  minReadySeconds: Seconds that a new pod must be ready before it counts as available. Default 0.
  paused: True takes changes of the template without acting on them. Default false.
  progressDeadlineSeconds: Seconds without progress after which the condition Progressing turns False, with the reason ProgressDeadlineExceeded. It goes on trying. Default 600; greater than minReadySeconds.
  replicas: How many pods. Default 1. Leave it out when an autoscaler sets it.
  revisionHistoryLimit: How many old ReplicaSets are kept to go back to. Default 10.
  selector: Which pods belong to it. The template's labels must match. Cannot be changed.
  strategy: How changes of the template reach the pods. Default RollingUpdate, a quarter of the pods at a time.
  template: What the pods are made of. Its restartPolicy must be Always.

DeploymentStrategy: How pods of a Deployment are replaced.
  rollingUpdate: How many at once. Only with type RollingUpdate.
  type: RollingUpdate brings new pods while old ones go (the default), Recreate ends all of the old ones first.

RollingUpdateDeployment: How many pods are replaced at once. Not both may be 0.
  maxSurge: How many pods there may be beyond replicas, as a number or a percentage that is rounded up. Default 25%.
  maxUnavailable: How many pods may be missing, as a number or a percentage that is rounded down. Default 25%.

DeploymentStatus: How far a Deployment has got.
  availableReplicas: Pods that were ready for minReadySeconds.
  collisionCount: How often the name of a new ReplicaSet was taken. It makes the next name another.
  conditions: Sides of its state, by type: Available, Progressing and ReplicaFailure.
  observedGeneration: The metadata.generation that this status is about.
  readyReplicas: Pods that are ready.
  replicas: Pods that exist and are not ending, of all templates.
  terminatingReplicas: Pods that are ending.
  unavailableReplicas: Pods that are missing or not yet available.
  updatedReplicas: Pods of the newest template.

DeploymentCondition: One side of a Deployment's state.
  lastTransitionTime: When status last changed.
  lastUpdateTime: When anything of it last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side: Available, Progressing or ReplicaFailure.

ReplicaSet: Keeps a number of equal pods running. Mostly made by a Deployment, which can also replace them.
  spec: What is wanted.
  status: How many there are. Kept by the cluster: other writes leave it as it is.

ReplicaSetSpec: How many pods are wanted, and of what kind.
  minReadySeconds: Seconds that a new pod must be ready before it counts as available. Default 0.
  replicas: How many pods. Default 1.
  selector: Which pods belong to it. The template's labels must match. Cannot be changed.
  template: What new pods are made of. A change does not touch those that run.

ReplicaSetStatus: How many pods there are.
  availableReplicas: Pods that were ready for minReadySeconds.
  conditions: Sides of its state, by type: ReplicaFailure.
  fullyLabeledReplicas: Pods that have all labels of the template.
  observedGeneration: The metadata.generation that this status is about.
  readyReplicas: Pods that are ready.
  replicas: Pods that exist and are not ending.
  terminatingReplicas: Pods that are ending.

ReplicaSetCondition: One side of a ReplicaSet's state.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side, such as ReplicaFailure.

StatefulSet: Keeps pods that are not alike: each has a number, a lasting name and its own storage, and keeps them when it is replaced.
  spec: How many pods, of what kind, with what storage, and how they are replaced.
  status: How far it has got. Kept by the cluster: other writes leave it as it is.

StatefulSetSpec: How many pods are wanted, of what kind, and how they are replaced.
  minReadySeconds: Seconds that a new pod must be ready before it counts as available. Default 0.
  ordinals: Where their numbers begin. Default 0.
  persistentVolumeClaimRetentionPolicy: Whether claims of the volumeClaimTemplates are deleted with their pods. Default: they are kept.
  podManagementPolicy: OrderedReady starts one pod after the other, each when the one before is ready, and ends them backwards (the default); Parallel does not wait. Cannot be changed.
  replicas: How many pods. Default 1.
  revisionHistoryLimit: How many old revisions are kept to go back to. Default 10.
  selector: Which pods belong to it. The template's labels must match. Cannot be changed.
  serviceName: The headless Service that gives the pods their names in DNS, as pod.service.namespace. It must be made by hand. Cannot be changed.
  template: What the pods are made of.
  updateStrategy: What happens when the template changes. Default RollingUpdate, one pod at a time.
  volumeClaimTemplates: Claims of which each pod gets its own, named template-pod. The template may mount them as volumes by their names. Cannot be changed.

StatefulSetOrdinals: How pods of a StatefulSet are numbered.
  start: Number of the first pod. Default 0.

StatefulSetPersistentVolumeClaimRetentionPolicy: What happens to claims of a StatefulSet's pods.
  whenDeleted: When the StatefulSet is deleted: Retain keeps them (the default), Delete deletes them.
  whenScaled: When a pod is no longer wanted: Retain keeps its claims (the default), Delete deletes them.

StatefulSetUpdateStrategy: How pods of a StatefulSet are replaced.
  rollingUpdate: How many, and which. Only with type RollingUpdate.
  type: RollingUpdate replaces them from the highest number down (the default), OnDelete only when somebody deletes them.

RollingUpdateStatefulSetStrategy: How pods of a StatefulSet are replaced one after the other.
  maxUnavailable: How many pods may be missing at once, as a number or a percentage that is rounded up. At least 1, default 1.
  partition: Only pods with this number or a higher one are replaced. Default 0: all.

StatefulSetStatus: How far a StatefulSet has got.
  availableReplicas: Pods that were ready for minReadySeconds.
  collisionCount: How often the name of a new ControllerRevision was taken.
  conditions: Sides of its state, by type. The cluster itself sets none.
  currentReplicas: Pods of currentRevision.
  currentRevision: The revision that pods not yet replaced are made of.
  observedGeneration: The metadata.generation that this status is about.
  readyReplicas: Pods that are ready.
  replicas: Pods that exist.
  updateRevision: The revision that pods already replaced are made of.
  updatedReplicas: Pods of updateRevision.

StatefulSetCondition: One side of a StatefulSet's state.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side.

DaemonSet: Keeps one pod running on every node that fits, for what each node needs.
  spec: What is wanted.
  status: On how many nodes they run. Kept by the cluster: other writes leave it as it is.

DaemonSetSpec: Which pods are wanted on nodes, and how they are replaced.
  minReadySeconds: Seconds that a new pod must be ready before it counts as available. Default 0.
  revisionHistoryLimit: How many old revisions are kept to go back to. Default 10.
  selector: Which pods belong to it. The template's labels must match. Cannot be changed.
  template: What the pods are made of. Its nodeSelector and affinity say which nodes fit; name kubernetes.io/os where nodes of Linux and of Windows are mixed. Its restartPolicy must be Always.
  updateStrategy: What happens when the template changes. Default RollingUpdate, one node at a time.

DaemonSetUpdateStrategy: How pods of a DaemonSet are replaced.
  rollingUpdate: How many at once. Only with type RollingUpdate.
  type: RollingUpdate replaces them node by node (the default), OnDelete only when somebody deletes them.

RollingUpdateDaemonSet: On how many nodes pods are replaced at once. One of the two must be 0, and only one.
  maxSurge: On how many nodes a new pod may start beside the old one, as a number or a percentage that is rounded up. Default 0.
  maxUnavailable: On how many nodes the pod may be missing, as a number or a percentage that is rounded up. Default 1.

DaemonSetStatus: On how many nodes pods of a DaemonSet run.
  collisionCount: How often the name of a new ControllerRevision was taken.
  conditions: Sides of its state, by type. The cluster itself sets none.
  currentNumberScheduled: Nodes that should have a pod and have one.
  desiredNumberScheduled: Nodes that should have a pod.
  numberAvailable: Nodes whose pod was ready for minReadySeconds.
  numberMisscheduled: Nodes that have a pod and should not.
  numberReady: Nodes whose pod is ready.
  numberUnavailable: Nodes that should have a pod, and none is available.
  observedGeneration: The metadata.generation that this status is about.
  updatedNumberScheduled: Nodes whose pod is of the newest template.

DaemonSetCondition: One side of a DaemonSet's state.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side.

ControllerRevision: A former template of a StatefulSet or DaemonSet, kept to go back to. Made by their controllers; the data cannot be changed.
  data: The template.
  revision: Its number, higher than that of the one before.
`;

export const batch: string = `
Job: Runs pods until enough of them have ended well.
  spec: What is wanted. Most of it cannot be changed.
  status: How far it has got. Kept by the cluster: other writes leave it as it is.

JobSpec: Which pods a Job runs, how many, and when it gives up.
  activeDeadlineSeconds: Seconds after its start when the Job fails and its pods are ended. Not counted while it is suspended. Unset: no such limit.
  backoffLimit: How many pods may fail before the Job fails. Default 6; no limit with backoffLimitPerIndex.
  backoffLimitPerIndex: How many pods of one index may fail before that index has failed. Only with completionMode Indexed. Cannot be changed.
  completionMode: NonIndexed counts pods that ended well (the default); Indexed gives each pod a number from 0 in JOB_COMPLETION_INDEX and wants one success for each. Cannot be changed.
  completions: How many pods must end well. Unset: 1, or with parallelism set, one success ends the Job once all pods have ended. Needed with Indexed, where it may be changed together with parallelism.
  managedBy: Who looks after the Job, a name with a prefix. Unset: the cluster's own controller. Cannot be changed.
  manualSelector: True takes selector as it is written, which may catch pods of others. Default false: a selector is made.
  maxFailedIndexes: How many indexes may fail before the Job fails. Only with backoffLimitPerIndex. Unset: all the others go on.
  parallelism: How many pods may run at once. Default 1; 0 runs none.
  podFailurePolicy: What a failed pod means, by exit code or condition. Needs restartPolicy Never. Cannot be changed.
  podReplacementPolicy: When a pod is replaced: TerminatingOrFailed as soon as it is ending (the default), Failed when it has ended (always with podFailurePolicy).
  selector: Which pods belong to it. Made by the server; mostly left out.
  successPolicy: When the Job has succeeded before all indexes have. Only with Indexed. Cannot be changed.
  suspend: True ends the Job's pods and starts none until it is false again. Default false.
  template: What the pods are made of. Its restartPolicy must be OnFailure or Never. Cannot be changed.
  ttlSecondsAfterFinished: Seconds after its end when the Job is deleted with its pods. 0: at once. Unset: never.

JobStatus: How far a Job has got.
  active: Pods that run or wait and are not ending.
  completedIndexes: Indexes that have succeeded, such as 1,3-5,7.
  completionTime: When the Job succeeded. Unset when it failed.
  conditions: Complete, Failed, Suspended, and before the end SuccessCriteriaMet or FailureTarget.
  failed: Pods that failed.
  failedIndexes: Indexes that have failed, such as 1,3-5,7. Only with backoffLimitPerIndex.
  ready: Pods that run and are ready.
  startTime: When it began, or began again after it was suspended.
  succeeded: Pods that ended well.
  terminating: Pods that are ending.
  uncountedTerminatedPods: Pods that have ended and are not in the numbers yet.

UncountedTerminatedPods: Pods that have ended and are about to be counted, by uid.
  failed: Those that failed.
  succeeded: Those that ended well.

JobCondition: One side of a Job's state.
  lastProbeTime: When it was last looked at.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side: Complete, Failed, Suspended, SuccessCriteriaMet or FailureTarget.

PodFailurePolicy: What failed pods mean to a Job.
  rules: The rules, at most 20. The first that fits counts; when none does, the pod counts against backoffLimit.

PodFailurePolicyRule: What a pod that failed in a certain way means. Exactly one of onExitCodes and onPodConditions is set.
  action: FailJob ends the Job, FailIndex ends the index, Ignore starts another pod without counting, Count counts against backoffLimit.
  onExitCodes: Fits by how containers ended.
  onPodConditions: Fits when the pod has one of these conditions, at most 20.

PodFailurePolicyOnExitCodesRequirement: Fits by exit codes of containers. Those that ended well do not count.
  containerName: The container that is looked at. Unset: all of them.
  operator: In fits codes that are listed, NotIn all others.
  values: The codes, 1 to 255 of them, sorted. 0 is not allowed with In.

PodFailurePolicyOnPodConditionsPattern: A condition of a pod.
  status: The status it must have. Default True.
  type: Its type, such as DisruptionTarget.

SuccessPolicy: When a Job has succeeded early. The pods that are left are ended.
  rules: The rules, at most 20. One that holds is enough.

SuccessPolicyRule: When a Job has succeeded. At least one field is set; with both, so many of those indexes.
  succeededCount: How many indexes must have succeeded. At least 1.
  succeededIndexes: Which indexes must have succeeded, such as 1,3-5,7.

JobTemplateSpec: What a CronJob makes Jobs of.
  metadata: Labels and annotations of the Jobs.
  spec: What the Jobs run.

CronJob: Makes a Job at certain times.
  spec: When, and what Job.
  status: Which of its Jobs run. Kept by the cluster: other writes leave it as it is.

CronJobSpec: When Jobs are made, and which.
  concurrencyPolicy: What happens when it is time and the last Job still runs: Allow runs both (the default), Forbid leaves this time out, Replace ends the last one.
  failedJobsHistoryLimit: How many failed Jobs are kept. Default 1; 0 keeps none.
  jobTemplate: What the Jobs are made of.
  schedule: When, as minute, hour, day of the month, month and day of the week (*/5 * * * *), or a word such as @daily. No time zone may be written here.
  startingDeadlineSeconds: Seconds for which a time that was missed can still be made up for. Under 10 it may miss times. Unset: no limit, but after more than 100 missed times an event warns.
  successfulJobsHistoryLimit: How many Jobs that ended well are kept. Default 3; 0 keeps none.
  suspend: True makes no more Jobs. Those that run go on. Default false.
  timeZone: Time zone of the schedule, such as Europe/Berlin. Unset: that of the controller.

CronJobStatus: Which Jobs of a CronJob run.
  active: Jobs that run.
  lastScheduleTime: When a Job was last made.
  lastSuccessfulTime: When a Job last ended well.
`;
