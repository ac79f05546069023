// What priority and fairness counts, with upstream's names.
import type { MetricsRegistry } from '../../component-base/metrics.ts';

/** How many requests of a schema are at a level now, and how many seats they have. */
export interface Crowd {
  waiting: number;
  executing: number;
  seats: number;
}

export interface FlowMetrics {
  dispatched(schema: string, level: string, waitedMs: number): void;
  rejected(schema: string, level: string, reason: string): void;
  /** Whoever counts up counts down. */
  crowd(schema: string, level: string): Crowd;
  seats(level: string, nominal: number, kept: number, most: number): void;
}

const buckets: readonly number[] = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const flowLabels = ['flow_schema', 'priority_level'];
const levelLabels = ['priority_level'];

/** Counted up and down for each request, and looked at when somebody asks. */
function crowds(metrics: Pick<MetricsRegistry, 'readGauge'>): FlowMetrics['crowd'] {
  const levels = new Map<string, Map<string, Crowd>>();
  const all = (of: keyof Crowd) => () =>
    [...levels].flatMap(([priority_level, schemas]) =>
      [...schemas].map(([flow_schema, crowd]) => [{ flow_schema, priority_level }, crowd[of]] as const),
    );
  metrics.readGauge(
    'apiserver_flowcontrol_current_inqueue_requests',
    'Number of requests currently pending in queues of the API Priority and Fairness subsystem',
    flowLabels,
    all('waiting'),
  );
  metrics.readGauge(
    'apiserver_flowcontrol_current_executing_requests',
    'Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem',
    flowLabels,
    all('executing'),
  );
  metrics.readGauge(
    'apiserver_flowcontrol_current_executing_seats',
    'Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem',
    flowLabels,
    all('seats'),
  );
  return (schema, level) => {
    const schemas = levels.get(level) ?? new Map<string, Crowd>();
    const crowd = schemas.get(schema) ?? { waiting: 0, executing: 0, seats: 0 };
    levels.set(level, schemas.set(schema, crowd));
    return crowd;
  };
}

function limits(metrics: Pick<MetricsRegistry, 'gauge'>): FlowMetrics['seats'] {
  const nominalSeats = metrics.gauge(
    'apiserver_flowcontrol_nominal_limit_seats',
    'Nominal number of execution seats configured for each priority level',
    levelLabels,
  );
  const leastSeats = metrics.gauge(
    'apiserver_flowcontrol_lower_limit_seats',
    'Configured lower bound on number of execution seats available to each priority level',
    levelLabels,
  );
  const mostSeats = metrics.gauge(
    'apiserver_flowcontrol_upper_limit_seats',
    'Configured upper bound on number of execution seats available to each priority level',
    levelLabels,
  );
  return (priority_level, nominal, kept, most) => {
    nominalSeats.set({ priority_level }, nominal);
    leastSeats.set({ priority_level }, kept);
    mostSeats.set({ priority_level }, most);
  };
}

export function flowMetrics(metrics: MetricsRegistry): FlowMetrics {
  const dispatched = metrics.counter(
    'apiserver_flowcontrol_dispatched_requests_total',
    'Number of requests executed by API Priority and Fairness subsystem',
    flowLabels,
  );
  const rejected = metrics.counter(
    'apiserver_flowcontrol_rejected_requests_total',
    'Number of requests rejected by API Priority and Fairness subsystem',
    ['flow_schema', 'priority_level', 'reason'],
  );
  const wait = metrics.histogram(
    'apiserver_flowcontrol_request_wait_duration_seconds',
    'Length of time a request spent waiting in its queue',
    ['flow_schema', 'priority_level', 'execute'],
    buckets,
  );
  return {
    dispatched(flow_schema, priority_level, waitedMs) {
      dispatched.inc({ flow_schema, priority_level });
      if (waitedMs > 0) wait.observe({ flow_schema, priority_level, execute: 'true' }, waitedMs / 1000);
    },
    rejected: (flow_schema, priority_level, reason) => rejected.inc({ flow_schema, priority_level, reason }),
    crowd: crowds(metrics),
    seats: limits(metrics),
  };
}
