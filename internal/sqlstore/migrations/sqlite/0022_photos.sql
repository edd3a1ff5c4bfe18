-- The photos of an animal in their order, a line for each: id, name, width, height, bytes of its files, created_at and the alternative
-- text. There are at most 12, and they are read with the profile. It is empty, and not NULL, if they were deleted after the animal had
-- been removed. Until then, photos_removed_at says when it was removed. removed is 2 if the animal cannot be restored any more, and its
-- profile only stays until its photos have been deleted.
ALTER TABLE profiles ADD COLUMN photos TEXT;
ALTER TABLE profiles ADD COLUMN photos_removed_at INTEGER;
CREATE INDEX profiles_photos_removed ON profiles (photos_removed_at) WHERE photos_removed_at IS NOT NULL;

-- The files of the photos. Those of removed animals stay for a while, because the animal may be restored.
CREATE TABLE photo_files (
    name    TEXT    NOT NULL, -- of the photo
    size    TEXT    NOT NULL,
    pet_id  INTEGER NOT NULL,
    content BLOB    NOT NULL,
    PRIMARY KEY (name, size)
) STRICT;
