"""Pictures: cut, sized, turned, converted, put together, with text on them."""
