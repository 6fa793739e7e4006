/** The form of an upload: the fields of its address, and the file last. */
export function form(fields: Record<string, string>, blob: Blob, name: string): FormData {
  const made = new FormData();
  for (const [field, value] of Object.entries(fields)) made.append(field, value);
  made.append("file", blob, name);
  return made;
}
