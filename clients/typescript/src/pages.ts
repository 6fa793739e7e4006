/** A page of a list of the API. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  /** Only when the page ended early: the next one begins behind it, not behind the last item. */
  next_before?: string;
}

/** Where a page begins: behind the item with that id; with none, at the newest. */
export interface Place {
  before?: string;
}

/** The items of all pages; the next page is fetched when the loop comes to it. */
export async function* items<Item>(
  fetchPage: (place: Place) => Promise<Page<Item>>,
  idOf: (item: Item) => string,
): AsyncGenerator<Item, void> {
  let place: Place = {};
  for (;;) {
    const page = await fetchPage(place);
    yield* page.data;
    const last = page.data.at(-1);
    const behind = page.next_before ?? (page.has_more && last !== undefined ? idOf(last) : undefined);
    if (behind === undefined) return;
    place = { before: behind };
  }
}
