import type { DeletedSchedule, Schedule, ScheduleChangeInput, ScheduleInput } from "./api.js";
import { items } from "./pages.js";
import type { CallOptions, Transport } from "./transport.js";

/** Messages that are sent at a time, once or again and again. */
export class Schedules {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All schedules, newest first; pages are fetched as they are needed. */
  list(options: CallOptions = {}): AsyncGenerator<Schedule, void> {
    return items(
      (query) => this.#transport.call("listSchedules", { query, ...options }),
      (last) => last.id,
    );
  }

  /** Not repeated by itself: each call makes a schedule. */
  create(body: ScheduleInput, options: CallOptions = {}): Promise<Schedule> {
    return this.#transport.call("createSchedule", { body, ...options });
  }

  get(scheduleId: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#transport.call("getSchedule", { path: { schedule_id: scheduleId }, ...options });
  }

  /** Pause it, or let it run again. */
  update(
    scheduleId: string,
    body: ScheduleChangeInput,
    options: CallOptions = {},
  ): Promise<Schedule> {
    const path = { schedule_id: scheduleId };
    return this.#transport.call("updateSchedule", { path, body, ...options });
  }

  delete(scheduleId: string, options: CallOptions = {}): Promise<DeletedSchedule> {
    const path = { schedule_id: scheduleId };
    return this.#transport.call("deleteSchedule", { path, ...options });
  }
}
