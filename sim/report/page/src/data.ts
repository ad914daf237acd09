// The data of a report, as sim/report/html_data.h, html_history.h and html_capacity.h write it.

export type Num = number | null;

export interface History {
  width_s: number; // of a column
  columns: number;
  in_system: Num[];
  in_system_min: Num[];
  in_system_max: Num[];
  running: Num[];
  waiting: Num[];
  kv: Num[]; // percent of the blocks, while busy
  kv_peak: Num[];
  busy: Num[]; // percent of the replicas' time
  count_width_s: number; // of a column of the counts
  arrivals_per_s: Num[];
  finishes_per_s: Num[];
  output_tokens_per_s: Num[];
  prefill_tokens_per_s: Num[];
  preemptions: Num[];
}

export interface Group {
  from: number; // shares of the requests, by end-to-end latency
  to: number;
  requests: number;
  parts_ms: Record<string, number>;
}

export interface Run {
  label: string;
  verdict: { load: string; text: string; storm: boolean };
  explanation: string;
  changes?: Record<string, unknown>; // keys of the scenario that differ from the first run's
  summary: any; // --save-result's keys
  curves: Record<string, Num[]>; // shares, ttft_ms, tpot_ms, itl_ms, e2el_ms
  groups: Group[];
  history: History;
}

export interface CompareColumn {
  tag: string;
  head: string;
  unit: string;
  better: "none" | "low" | "high";
}

export interface CompareRow {
  label: string;
  replicates: number;
  metrics: Record<string, Num>;
  std?: Record<string, number>;
  best: string[];
  load: string;
  verdict: string;
  explanation: string;
}

export interface Compare {
  columns: CompareColumn[];
  rows: CompareRow[];
  paired?: {
    label: string;
    against: string;
    pairs: number;
    metrics: Record<string, { difference: number; low: number; high: number; shown: boolean }>;
  }[];
}

export interface Tried {
  load: number;
  seed: number;
  good: boolean;
  miss: string;
  request_throughput: Num;
  goodput: Num;
  attainment_percent: Num;
  output_throughput: Num;
  targets_ms: Num[];
}

export interface Capacity {
  text: string;
  find: string; // the unit of a load
  met: string;
  answer: number;
  low: number;
  high: number;
  beyond: { load: number; miss: string };
  gpus: number;
  usd_per_million_output_tokens: number;
  runs: number;
  monotone: boolean;
  targets: { name: string; limit_ms: number }[];
  tried: Tried[];
}

export interface Pareto {
  points: {
    label: string;
    gpus: number;
    tokens_per_s_per_user: number;
    tokens_per_s_per_gpu: number;
    good: boolean;
  }[];
  tried: number;
}

/** Of `capacity --plan`. */
export interface Plan {
  keys: string; // what the labels are values of
  load_unit: string;
  setups: {
    label: string;
    status: string; // "ok", or why there is nothing more
    reason: string;
    on_front?: boolean;
    gpus?: number;
    load?: number;
    load_low?: number;
    load_high?: number;
    tokens_per_s_per_user?: number;
    tokens_per_s_per_gpu?: number;
    usd_per_million_output_tokens?: number;
    ttft_p99_ms?: number;
    tpot_mean_ms?: number;
    goodput?: Num;
    attainment?: Num;
  }[];
}

export interface Report {
  schema_version: number;
  kind: "run" | "compare" | "capacity" | "plan";
  title: string;
  command: string;
  version?: string;
  date?: string | null;
  notes: string[];
  thinned: string[];
  part_titles: string[];
  class_titles: string[];
  scenario: any;
  runs: Run[];
  compare?: Compare;
  capacity?: Capacity;
  pareto?: Pareto;
  plan?: Plan;
}
