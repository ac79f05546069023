// Names, types, labels and buckets of upstream's metrics that are told here, as its lists of 1.36 (test/instrumentation) and its sources have them.

export interface UpstreamMetric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');
const counter = (labels = ''): UpstreamMetric => ({ type: 'counter', labels: words(labels) });
const gauge = (labels = ''): UpstreamMetric => ({ type: 'gauge', labels: words(labels) });
const histogram = (labels: string, buckets: readonly number[]): UpstreamMetric => ({
  type: 'histogram',
  labels: words(labels),
  buckets,
});

/** As upstream makes them: each out of the one before. */
function exponential(start: number, factor: number, count: number): number[] {
  const all = [start];
  while (all.length < count) all.push(all.at(-1)! * factor);
  return all;
}
/** Those of Prometheus' own libraries. */
const standard = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const clientLatency = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const clientSizes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
const podStarts = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];
const imagePulls = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];
const requestLatency = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const request = 'component dry_run group resource scope subresource verb version';
const flow = 'flow_schema priority_level';
const kmsKey = 'apiserver_id_hash key_id_hash provider_name transformation_type';
const http = 'long_running method path server_type';
const probe = 'container namespace pod probe_type';

export const upstreamMetrics: Readonly<Record<string, UpstreamMetric>> = {
  apiextensions_apiserver_validation_ratcheting_seconds: histogram('', exponential(0.00001, 4, 10)),
  apiserver_audit_error_total: counter('plugin'),
  apiserver_audit_event_total: counter(),
  apiserver_audit_level_total: counter('level'),
  apiserver_audit_requests_rejected_total: counter(),
  apiserver_admission_webhook_admission_duration_seconds: histogram(
    'name operation rejected type',
    [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
  ),
  aggregator_unavailable_apiservice: gauge('name'),
  aggregator_unavailable_apiservice_total: counter('name reason'),
  apiserver_admission_webhook_fail_open_count: counter('name type'),
  apiserver_admission_webhook_rejection_count: counter('error_type name operation rejection_code type'),
  apiserver_admission_webhook_request_total: counter('code name operation rejected type'),
  apiserver_mutating_admission_policy_check_duration_seconds: histogram(
    'error_type policy policy_binding',
    [0.0000005, 0.001, 0.01, 0.1, 1],
  ),
  apiserver_mutating_admission_policy_check_total: counter('error_type policy policy_binding'),
  apiserver_validating_admission_policy_check_duration_seconds: histogram(
    'enforcement_action error_type policy policy_binding',
    [0.0000005, 0.001, 0.01, 0.1, 1],
  ),
  apiserver_validating_admission_policy_check_total: counter(
    'enforcement_action error_type policy policy_binding',
  ),
  apiserver_cel_compilation_duration_seconds: histogram('', standard),
  apiserver_cel_evaluation_duration_seconds: histogram('', standard),
  apiserver_conversion_webhook_duration_seconds: histogram(
    'failure_type result',
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60],
  ),
  apiserver_conversion_webhook_request_total: counter('failure_type result'),
  apiserver_crd_conversion_webhook_duration_seconds: histogram(
    'crd_name from_version succeeded to_version',
    exponential(0.001, 2, 15),
  ),
  apiserver_current_inflight_requests: gauge('request_kind'),
  apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds:
    gauge('apiserver_id_hash status'),
  apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds:
    gauge('apiserver_id_hash status'),
  apiserver_authorization_config_controller_automatic_reloads_total: counter('apiserver_id_hash status'),
  apiserver_authentication_config_controller_last_config_info: gauge('apiserver_id_hash hash'),
  apiserver_authorization_config_controller_last_config_info: gauge('apiserver_id_hash hash'),
  apiserver_authorization_match_condition_evaluation_errors_total: counter('name type'),
  apiserver_authorization_match_condition_evaluation_seconds: histogram(
    'name type',
    [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
  ),
  apiserver_authorization_match_condition_exclusions_total: counter('name type'),
  apiserver_authorization_webhook_duration_seconds: histogram('name result', standard),
  apiserver_authorization_webhook_evaluations_fail_open_total: counter('name result'),
  apiserver_authorization_webhook_evaluations_total: counter('name result'),
  authenticated_user_requests: counter('username'),
  authentication_attempts: counter('result'),
  authentication_duration_seconds: histogram('result', exponential(0.001, 2, 15)),
  authentication_token_cache_active_fetch_count: gauge('status'),
  authentication_token_cache_fetch_total: counter('status'),
  authentication_token_cache_request_duration_seconds: histogram('status', standard),
  authentication_token_cache_request_total: counter('status'),
  authorization_attempts_total: counter('result'),
  authorization_duration_seconds: histogram('result', exponential(0.001, 2, 15)),
  apiserver_authorization_decisions_total: counter('decision name type'),
  apiserver_authentication_config_controller_automatic_reloads_total: counter('apiserver_id_hash status'),
  apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info: gauge(
    'apiserver_id_hash hash jwt_issuer_hash',
  ),
  apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds: gauge(
    'apiserver_id_hash jwt_issuer_hash result',
  ),
  apiserver_authentication_jwt_authenticator_latency_seconds: histogram('jwt_issuer_hash result', [
    0.001,
    ...standard,
  ]),
  apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds:
    gauge('apiserver_id_hash status'),
  apiserver_encryption_config_controller_automatic_reloads_total: counter('apiserver_id_hash status'),
  apiserver_encryption_config_controller_last_config_info: gauge('apiserver_id_hash hash'),
  apiserver_envelope_encryption_dek_source_cache_size: gauge('provider_name'),
  apiserver_envelope_encryption_invalid_key_id_from_status_total: counter('error provider_name'),
  apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds: gauge(kmsKey),
  apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds: gauge(
    'apiserver_id_hash key_id_hash provider_name',
  ),
  apiserver_envelope_encryption_key_id_hash_total: counter(kmsKey),
  apiserver_envelope_encryption_kms_operations_latency_seconds: histogram(
    'grpc_status_code method_name provider_name',
    exponential(0.0001, 2, 20),
  ),
  apiserver_flowcontrol_current_executing_requests: gauge(flow),
  apiserver_flowcontrol_current_executing_seats: gauge(flow),
  apiserver_flowcontrol_current_inqueue_requests: gauge(flow),
  apiserver_flowcontrol_dispatched_requests_total: counter(flow),
  apiserver_flowcontrol_lower_limit_seats: gauge('priority_level'),
  apiserver_flowcontrol_nominal_limit_seats: gauge('priority_level'),
  apiserver_flowcontrol_rejected_requests_total: counter(`${flow} reason`),
  apiserver_flowcontrol_request_wait_duration_seconds: histogram(
    `execute ${flow}`,
    [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  ),
  apiserver_flowcontrol_upper_limit_seats: gauge('priority_level'),
  apiserver_request_duration_seconds: histogram(request, requestLatency),
  apiserver_request_total: counter(`code ${request}`),
  apiserver_requested_deprecated_apis: gauge('group removed_release resource subresource version'),
  apiserver_resource_objects: gauge('group resource'),
  apiserver_storage_envelope_transformation_cache_misses_total: counter(),
  apiserver_storage_objects: gauge('resource'),
  apiserver_storage_size_bytes: gauge('storage_cluster_id'),
  apiserver_storage_transformation_duration_seconds: histogram(
    'transformation_type transformer_prefix',
    exponential(5e-6, 2, 25),
  ),
  apiserver_storage_transformation_operations_total: counter(
    'resource status transformation_type transformer_prefix',
  ),
  cronjob_controller_job_creation_skew_duration_seconds: histogram('', exponential(1, 2, 10)),
  endpoint_slice_controller_changes: counter('operation'),
  endpoint_slice_controller_num_endpoint_slices: gauge(),
  endpoint_slice_mirroring_controller_changes: counter('operation'),
  endpoint_slice_mirroring_controller_num_endpoint_slices: gauge(),
  ephemeral_volume_controller_create_failures_total: counter(),
  ephemeral_volume_controller_create_total: counter(),
  garbagecollector_controller_resources_sync_error_total: counter(),
  horizontal_pod_autoscaler_controller_desired_replicas: gauge('hpa_name namespace'),
  horizontal_pod_autoscaler_controller_metric_computation_duration_seconds: histogram(
    'action error metric_type',
    exponential(0.001, 2, 15),
  ),
  horizontal_pod_autoscaler_controller_metric_computation_total: counter('action error metric_type'),
  horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers: gauge(),
  horizontal_pod_autoscaler_controller_reconciliation_duration_seconds: histogram(
    'action error',
    exponential(0.001, 2, 15),
  ),
  horizontal_pod_autoscaler_controller_reconciliations_total: counter('action error'),
  informer_processing_latency_seconds: histogram(
    'group name resource version',
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ),
  job_controller_job_pods_finished_total: counter('completion_mode result'),
  job_controller_job_sync_duration_seconds: histogram(
    'action completion_mode result',
    exponential(0.004, 2, 15),
  ),
  job_controller_job_syncs_total: counter('action completion_mode result'),
  job_controller_jobs_finished_total: counter('completion_mode reason result'),
  kubelet_certificate_manager_client_ttl_seconds: gauge(),
  kubelet_certificate_manager_server_ttl_seconds: gauge(),
  kubelet_cgroup_manager_duration_seconds: histogram('operation_type', standard),
  kubelet_evictions: counter('eviction_signal'),
  kubelet_http_inflight_requests: gauge(http),
  kubelet_http_requests_duration_seconds: histogram(http, standard),
  kubelet_http_requests_total: counter(http),
  kubelet_image_pull_duration_seconds: histogram('image_size_in_bytes', imagePulls),
  kubelet_node_name: gauge('node'),
  kubelet_pleg_last_seen_seconds: gauge(),
  kubelet_pleg_relist_duration_seconds: histogram('', standard),
  kubelet_pleg_relist_interval_seconds: histogram('', standard),
  kubelet_pod_start_duration_seconds: histogram('', podStarts),
  kubelet_pod_status_sync_duration_seconds: histogram('', [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60]),
  kubelet_pod_worker_duration_seconds: histogram('operation_type', standard),
  kubelet_run_podsandbox_duration_seconds: histogram('runtime_handler', standard),
  kubelet_run_podsandbox_errors_total: counter('runtime_handler'),
  kubelet_running_containers: gauge('container_state'),
  kubelet_running_pods: gauge(),
  kubelet_runtime_operations_duration_seconds: histogram('operation_type', exponential(0.005, 2.5, 14)),
  kubelet_runtime_operations_errors_total: counter('operation_type'),
  kubelet_runtime_operations_total: counter('operation_type'),
  kubelet_started_containers_total: counter('container_type'),
  kubelet_started_pods_errors_total: counter(),
  kubelet_started_pods_total: counter(),
  leader_election_master_status: gauge('name'),
  leader_election_slowpath_total: counter('name'),
  node_collector_evictions_total: counter('zone'),
  node_collector_unhealthy_nodes_in_zone: gauge('zone'),
  node_collector_update_node_health_duration_seconds: histogram('', exponential(0.001, 4, 8)),
  node_collector_zone_health: gauge('zone'),
  node_collector_zone_size: gauge('zone'),
  pod_gc_collector_force_delete_pod_errors_total: counter('namespace reason'),
  pod_gc_collector_force_delete_pods_total: counter('namespace reason'),
  pod_security_errors_total: counter('fatal request_operation resource subresource'),
  pod_security_evaluations_total: counter(
    'decision mode policy_level policy_version request_operation resource subresource',
  ),
  pod_security_exemptions_total: counter('request_operation resource subresource'),
  prober_probe_duration_seconds: histogram(probe, standard),
  prober_probe_total: counter(`${probe} pod_uid result`),
  rest_client_request_duration_seconds: histogram('host verb', clientLatency),
  rest_client_request_size_bytes: histogram('host verb', clientSizes),
  rest_client_requests_total: counter('code host method'),
  rest_client_response_size_bytes: histogram('host verb', clientSizes),
  root_ca_cert_publisher_sync_duration_seconds: histogram('code', exponential(0.001, 2, 15)),
  serviceaccount_invalid_legacy_auto_token_uses_total: counter(),
  serviceaccount_legacy_auto_token_uses_total: counter(),
  serviceaccount_legacy_manual_token_uses_total: counter(),
  serviceaccount_legacy_tokens_total: counter(),
  root_ca_cert_publisher_sync_total: counter('code'),
  scheduler_cache_size: gauge('type'),
  scheduler_framework_extension_point_duration_seconds: histogram(
    'extension_point profile status',
    exponential(0.0001, 2, 12),
  ),
  scheduler_pending_pods: gauge('queue'),
  scheduler_plugin_evaluation_total: counter('extension_point plugin profile'),
  scheduler_plugin_execution_duration_seconds: histogram(
    'extension_point plugin status',
    exponential(0.00001, 1.5, 20),
  ),
  scheduler_pod_scheduling_attempts: histogram('', exponential(1, 2, 5)),
  scheduler_pod_scheduling_sli_duration_seconds: histogram('attempts', exponential(0.01, 2, 20)),
  scheduler_preemption_attempts_total: counter(''),
  scheduler_preemption_goroutines_duration_seconds: histogram('result', exponential(0.01, 2, 20)),
  scheduler_preemption_goroutines_execution_total: counter('result'),
  scheduler_preemption_victims: histogram('', exponential(1, 2, 7)),
  scheduler_queue_incoming_pods_total: counter('event queue'),
  scheduler_schedule_attempts_total: counter('profile result'),
  scheduler_scheduling_algorithm_duration_seconds: histogram('', exponential(0.001, 2, 15)),
  scheduler_scheduling_attempt_duration_seconds: histogram('profile result', exponential(0.001, 2, 15)),
  scheduler_unschedulable_pods: gauge('plugin profile'),
  storage_operation_duration_seconds: histogram(
    'migrated operation_name status volume_plugin',
    [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
  ),
  taint_eviction_controller_pod_deletion_duration_seconds: histogram(
    '',
    [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
  ),
  taint_eviction_controller_pod_deletions_total: counter(),
  ttl_after_finished_controller_job_deletion_duration_seconds: histogram('', exponential(0.1, 2, 14)),
  volume_manager_total_volumes: gauge('plugin_name state'),
  workqueue_adds_total: counter('name'),
  workqueue_depth: gauge('name'),
  workqueue_longest_running_processor_seconds: gauge('name'),
  workqueue_queue_duration_seconds: histogram('name', exponential(1e-8, 10, 10)),
  workqueue_retries_total: counter('name'),
  workqueue_unfinished_work_seconds: gauge('name'),
  workqueue_work_duration_seconds: histogram('name', exponential(1e-8, 10, 10)),
};
