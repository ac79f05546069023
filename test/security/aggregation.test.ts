// Kinds that another API server serves which speaks HTTP/1.1.
import './suites/aggregation.ts';
