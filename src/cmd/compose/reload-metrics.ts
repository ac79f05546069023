// How often the configurations of authentication and authorization were read again, and how long tokens of providers took.
import {
  type CounterMetric,
  declareMetrics,
  type GaugeMetric,
  type HistogramMetric,
  type MetricsRegistry,
  type ReadGauge,
} from '../../component-base/metrics.ts';

export interface ReloadMetrics {
  readonly reloads: CounterMetric;
  readonly lastReload: GaugeMetric;
  readonly configuration: ReadGauge;
  readonly latency: HistogramMetric;
  readonly keyLooks: ReadGauge;
  readonly keySets: ReadGauge;
}

export const reloadMetrics: (metrics: MetricsRegistry) => ReloadMetrics = declareMetrics(
  (metrics: MetricsRegistry) => ({
    reloads: metrics.counter(
      'apiserver_authentication_config_controller_automatic_reloads_total',
      'How often the authentication configuration was read again, by how it went',
      ['apiserver_id_hash', 'status'],
    ),
    lastReload: metrics.gauge(
      'apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds',
      'When the authentication configuration was read again last, by how it went',
      ['apiserver_id_hash', 'status'],
    ),
    configuration: metrics.readGauge(
      'apiserver_authentication_config_controller_last_config_info',
      'Information about the last applied authentication configuration with hash as label, split by apiserver identity.',
      ['apiserver_id_hash', 'hash'],
    ),
    keyLooks: metrics.readGauge(
      'apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds',
      'Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer for the JWT authenticator.',
      ['apiserver_id_hash', 'jwt_issuer_hash', 'result'],
    ),
    keySets: metrics.readGauge(
      'apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info',
      'Information about the last JWKS fetched by the JWT authenticator with hash as label, split by api server identity and jwt issuer.',
      ['apiserver_id_hash', 'hash', 'jwt_issuer_hash'],
    ),
    latency: metrics.histogram(
      'apiserver_authentication_jwt_authenticator_latency_seconds',
      'How long tokens of OpenID providers took',
      ['jwt_issuer_hash', 'result'],
      [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ),
  }),
);

export const authorizationReloadMetrics: (
  metrics: MetricsRegistry,
) => Omit<ReloadMetrics, 'latency' | 'keyLooks' | 'keySets'> = declareMetrics((metrics: MetricsRegistry) => ({
  reloads: metrics.counter(
    'apiserver_authorization_config_controller_automatic_reloads_total',
    'Total number of automatic reloads of authorization configuration split by status and apiserver identity.',
    ['apiserver_id_hash', 'status'],
  ),
  lastReload: metrics.gauge(
    'apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds',
    'Timestamp of the last automatic reload of authorization configuration split by status and apiserver identity.',
    ['apiserver_id_hash', 'status'],
  ),
  configuration: metrics.readGauge(
    'apiserver_authorization_config_controller_last_config_info',
    'Information about the last applied authorization configuration with hash as label, split by apiserver identity.',
    ['apiserver_id_hash', 'hash'],
  ),
}));
