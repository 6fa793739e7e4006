import { ApiError, ConnectionError } from "./errors.js";

/** When a call is sent again: only for what can pass by itself. Times in milliseconds. */
export interface RetryPolicy {
  /** Tries after the first. */
  retries: number;
  /** Tries after the first once a long poll has been answered: a server that restarts in the
   * middle of a long wait is worth more patience than one that was never there. */
  retriesWhileFollowing: number;
  /** How often a message is sent again that the agent was too busy for. */
  busyRetries: number;
  /** The first backoff; doubled for each further one, a random part of it is waited. */
  baseMs: number;
  /** No backoff is longer. */
  longestMs: number;
  /** A longer `Retry-After` is handed to the caller as the error. */
  retryAfterMaxMs: number;
}

export const DEFAULT_RETRIES: Readonly<RetryPolicy> = {
  retries: 4,
  retriesWhileFollowing: 10,
  busyRetries: 8,
  baseMs: 500,
  longestMs: 8_000,
  retryAfterMaxMs: 120_000,
};

const RETRIED = new Set([429, 500, 502, 503, 504]);

/** A random part of the backoff before try number `attempt + 1`. */
export function backoff(policy: RetryPolicy, attempt: number): number {
  return Math.random() * Math.min(policy.longestMs, policy.baseMs * 2 ** Math.min(attempt, 16));
}

/** Milliseconds until the next try, or undefined to give up. */
export function pauseBefore(
  policy: RetryPolicy,
  attempt: number,
  error: unknown,
): number | undefined {
  if (error instanceof ApiError) {
    if (!RETRIED.has(error.status)) return undefined;
    if (error.retryAfterSeconds === undefined) return backoff(policy, attempt);
    const asked = error.retryAfterSeconds * 1000;
    return asked > policy.retryAfterMaxMs ? undefined : asked + backoff(policy, 0);
  }
  return error instanceof ConnectionError ? backoff(policy, attempt) : undefined;
}

/** Resolves after so many milliseconds; rejects with the signal's reason when it is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}
