import type { Message, MessageItem } from "./api.js";

/** The text to show a person: the open question, else the results of the jobs that have ended, else
 * the reply; null while there is none. */
export function textOf(message: Message | MessageItem): string | null {
  const results = message.jobs.map((job) => job.text).filter((text) => text);
  return message.question ?? (results.join("\n\n") || message.reply);
}
