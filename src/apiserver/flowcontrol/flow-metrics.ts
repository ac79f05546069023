// What priority and fairness counts, with upstream's names.
import type { MetricsRegistry } from '../../component-base/metrics.ts';

export interface FlowMetrics {
  dispatched(schema: string, level: string, waitedMs: number): void;
  rejected(schema: string, level: string, reason: string): void;
  crowd(level: string, waiting: number, executing: number, seats: number): void;
  seats(level: string, nominal: number, kept: number, most: number): void;
}

const buckets: readonly number[] = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];

export function flowMetrics(metrics: MetricsRegistry): FlowMetrics {
  const named = (name: string): string => `apiserver_flowcontrol_${name}`;
  const dispatched = metrics.counter(
    named('dispatched_requests_total'),
    'Number of requests executed by API Priority and Fairness subsystem',
    ['flow_schema', 'priority_level'],
  );
  const rejected = metrics.counter(
    named('rejected_requests_total'),
    'Number of requests rejected by API Priority and Fairness subsystem',
    ['flow_schema', 'priority_level', 'reason'],
  );
  const wait = metrics.histogram(
    named('request_wait_duration_seconds'),
    'Length of time a request spent waiting in its queue',
    ['flow_schema', 'priority_level', 'execute'],
    buckets,
  );
  const gauge = (name: string, help: string) => metrics.gauge(named(name), help, ['priority_level']);
  const waiting = gauge(
    'current_inqueue_requests',
    'Number of requests currently pending in queues of the API Priority and Fairness subsystem',
  );
  const executing = gauge(
    'current_executing_requests',
    'Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem',
  );
  const inUse = gauge(
    'current_executing_seats',
    'Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem',
  );
  const nominalSeats = gauge(
    'nominal_limit_seats',
    'Nominal number of execution seats configured for each priority level',
  );
  const leastSeats = gauge(
    'lower_limit_seats',
    'Configured lower bound on number of execution seats available to each priority level',
  );
  const mostSeats = gauge(
    'upper_limit_seats',
    'Configured upper bound on number of execution seats available to each priority level',
  );
  return {
    dispatched(flow_schema, priority_level, waitedMs) {
      dispatched.inc({ flow_schema, priority_level });
      if (waitedMs > 0) wait.observe({ flow_schema, priority_level, execute: 'true' }, waitedMs / 1000);
    },
    rejected: (flow_schema, priority_level, reason) => rejected.inc({ flow_schema, priority_level, reason }),
    crowd(priority_level, pending, running, seats) {
      waiting.set({ priority_level }, pending);
      executing.set({ priority_level }, running);
      inUse.set({ priority_level }, seats);
    },
    seats(priority_level, nominal, kept, most) {
      nominalSeats.set({ priority_level }, nominal);
      leastSeats.set({ priority_level }, kept);
      mostSeats.set({ priority_level }, most);
    },
  };
}
